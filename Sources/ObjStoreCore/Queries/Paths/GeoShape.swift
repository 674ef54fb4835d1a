import Glibc

/// A shape on the earth, a sphere: what GEOWITHIN asks for. In degrees of longitude (-180 to 180) and latitude (-90 to
/// 90).
enum GeoShape: Sendable {
    struct Point: Sendable, Equatable { var longitude: Double, latitude: Double }

    case box(Point, Point)
    /// The radius is in radians: kilometres / 6378.1.
    case circle(Point, radius: Double)
    /// Closed rings; the first is the outer one, the others are holes. Flat, as on a map.
    case polygon([[Point]])

    func contains(_ point: Point) -> Bool {
        switch self {
        case .box(let low, let high):
            low.longitude <= point.longitude && point.longitude <= high.longitude && low.latitude <= point.latitude
                && point.latitude <= high.latitude
        case .circle(let center, let radius): GeoShape.angle(center, point) <= radius
        case .polygon(let rings):
            GeoShape.isInside(rings[0], point) && !rings.dropFirst().contains { GeoShape.isInside($0, point) }
        }
    }

    /// Of two points, seen from the centre of the sphere: by the haversine, which is exact for small ones.
    private static func angle(_ a: Point, _ b: Point) -> Double {
        let longitude = radians(b.longitude - a.longitude), latitude = radians(b.latitude - a.latitude)
        let up = sin(latitude / 2), across = sin(longitude / 2)
        let half = up * up + cos(radians(a.latitude)) * cos(radians(b.latitude)) * across * across
        return 2 * asin(min(1, half.squareRoot()))
    }

    private static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }

    /// How often a ray from the point crosses the ring is odd; its corners and edges are outside.
    private static func isInside(_ ring: [Point], _ point: Point) -> Bool {
        let x = point.longitude, y = point.latitude
        var isInside = false
        for index in 1..<ring.count {
            let (x1, y1) = (ring[index - 1].longitude, ring[index - 1].latitude)
            let (x2, y2) = (ring[index].longitude, ring[index].latitude)
            let cross = (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)
            if cross == 0, min(x1, x2) <= x, x <= max(x1, x2), min(y1, y2) <= y, y <= max(y1, y2) { return false }
            if (y1 > y) != (y2 > y), x < (x2 - x1) * (y - y1) / (y2 - y1) + x1 { isInside.toggle() }
        }
        return isInside
    }
}

/// The properties of a place: an embedded object of a class with a string `type`, which is "Point", and a list of
/// doubles `coordinates`: longitude, latitude.
struct GeoProperties: Sendable {
    let type: UInt32
    let coordinates: UInt32

    /// Nil: the class is none of places.
    init?(_ cls: ClassSchema) {
        guard cls.isEmbedded, let type = cls.propertyIndex(named: "type"), cls.columns[type].kind == .string,
            let coordinates = cls.propertyIndex(named: "coordinates"), cls.columns[coordinates].kind == .list
        else { return nil }
        switch cls.elements(of: coordinates).kind {
        case .double, .float: break
        default: return nil
        }
        self.type = cls.propertyID(type)
        self.coordinates = cls.propertyID(coordinates)
    }
}
