internal import ObjStoreCore

/// A point on the earth, in degrees.
public struct GeoPoint: Hashable, Sendable {
    /// -90 to 90.
    public var latitude: Double
    /// -180 to 180.
    public var longitude: Double
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    fileprivate var text: String { "[\(longitude), \(latitude)]" }
}

/// A ``GeoBox``, ``GeoCircle`` or ``GeoPolygon``: where ``Query/geoWithin(_:)`` looks for places.
///
/// A place is an embedded object with a `type: String`, which is "Point", and `coordinates: List<Double>`, longitude
/// and latitude, as GeoJSON has them. What is not whole, or not there, is nowhere.
public protocol GeoShape: Hashable, Sendable {
    /// As the text of a query has it, also as an argument: `filter("home GEOWITHIN $0", box)`.
    var text: String { get }
    func _append(to numbers: inout _GeoNumbers)
}

/// The nodes of a shape.
public struct _GeoNumbers {
    fileprivate var nodes = QueryNodes()

    fileprivate mutating func append(_ number: Double) { nodes.append(constant: number._queryValue) }
    fileprivate mutating func append(_ point: GeoPoint) {
        append(point.longitude)
        append(point.latitude)
    }
}

/// What lies between two corners, edges included. It does not cross the 180th meridian.
public struct GeoBox: GeoShape {
    public var bottomLeft: GeoPoint
    public var topRight: GeoPoint
    public init(bottomLeft: GeoPoint, topRight: GeoPoint) {
        self.bottomLeft = bottomLeft
        self.topRight = topRight
    }

    public var text: String { "geoBox(\(bottomLeft.text), \(topRight.text))" }
    public func _append(to numbers: inout _GeoNumbers) {
        numbers.append(bottomLeft)
        numbers.append(topRight)
        numbers.nodes.append(.box, operands: 4)
    }
}

/// What is not further away from a point than so much, on the sphere.
public struct GeoCircle: GeoShape {
    public var center: GeoPoint
    public var radiusInRadians: Double
    public init(center: GeoPoint, radiusInRadians: Double) {
        self.center = center
        self.radiusInRadians = radiusInRadians
    }
    public init(center: GeoPoint, radius: GeoDistance) {
        self.init(center: center, radiusInRadians: radius.radians)
    }

    public var text: String { "geoCircle(\(center.text), \(radiusInRadians))" }
    public func _append(to numbers: inout _GeoNumbers) {
        numbers.append(center)
        numbers.append(radiusInRadians)
        numbers.nodes.append(.circle, operands: 3)
    }
}

/// On the surface of the earth, whose radius is taken to be 6378.1 km.
public struct GeoDistance: Hashable, Sendable {
    public let radians: Double
    public static func radians(_ radians: Double) -> GeoDistance { GeoDistance(radians: radians) }
    public static func degrees(_ degrees: Double) -> GeoDistance { GeoDistance(radians: degrees * .pi / 180) }
    public static func kilometers(_ kilometers: Double) -> GeoDistance { GeoDistance(radians: kilometers / 6378.1) }
    public static func miles(_ miles: Double) -> GeoDistance { kilometers(miles * 1.609344) }
}

/// What is inside of a ring and of none of its holes, edges excluded; flat, as on a map. The last point of a ring is
/// its first one, and may be left out.
public struct GeoPolygon: GeoShape {
    public var outerRing: [GeoPoint]
    public var holes: [[GeoPoint]]
    public init(outerRing: [GeoPoint], holes: [[GeoPoint]] = []) {
        self.outerRing = outerRing
        self.holes = holes
    }
    public init(outerRing: [GeoPoint], holes: [GeoPoint]...) { self.init(outerRing: outerRing, holes: holes) }

    private var rings: [[GeoPoint]] { ([outerRing] + holes).map { $0.first == $0.last ? $0 : $0 + $0.prefix(1) } }

    public var text: String {
        let rings = rings.map { ring in "{\(ring.map(\.text).joined(separator: ", "))}" }
        return "geoPolygon(\(rings.joined(separator: ", ")))"
    }
    public func _append(to numbers: inout _GeoNumbers) {
        for ring in rings {
            for point in ring { numbers.append(point) }
            numbers.nodes.append(.list, operands: 2 * ring.count)
        }
        numbers.nodes.append(.polygon, operands: rings.count)
    }
}

extension Query {
    /// Whether the place that the property has lies in the shape; of a collection, any of them.
    public func geoWithin<Place: EmbeddedObject>(_ shape: some GeoShape) -> Query<Bool> where Value == Place? {
        within(shape)
    }
    public func geoWithin<Place: EmbeddedObject>(_ shape: some GeoShape) -> Query<Bool> where Value == List<Place> {
        within(shape)
    }
    public func geoWithin<Key, Place: EmbeddedObject>(
        _ shape: some GeoShape
    ) -> Query<Bool> where Value == Map<Key, Place?> { within(shape) }

    private func within(_ shape: some GeoShape) -> Query<Bool> {
        combined { nodes in
            var numbers = _GeoNumbers()
            shape._append(to: &numbers)
            nodes.append(numbers.nodes)
            nodes.append(.geoWithin)
        }
    }
}
