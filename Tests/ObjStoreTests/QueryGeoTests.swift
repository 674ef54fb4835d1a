import ObjStore
import Testing

class GeoSpot: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
}

class GeoShop: Object {
    @Persisted(primaryKey: true) var name = ""
    @Persisted var home: GeoSpot?
    @Persisted var others: List<GeoSpot>
    @Persisted var byName: Map<String, GeoSpot?>
}

/// Places on the earth, by expressions and as arguments of a text.
@Suite struct QueryGeoTests {
    private let store: Store
    private static let towns: KeyValuePairs = [
        "Bern": (7.4474, 46.9481), "Thun": (7.6280, 46.7580), "Basel": (7.5886, 47.5596), "Roma": (12.4964, 41.9028),
        "Corner": (8.0, 47.0),
    ]

    init() throws {
        store = try memoryStore([GeoShop.self, GeoSpot.self])
        func spot(_ longitude: Double, _ latitude: Double) -> GeoSpot {
            let spot = GeoSpot()
            spot.coordinates.append(longitude)
            spot.coordinates.append(latitude)
            return spot
        }
        try store.write { tx in
            for (name, place) in Self.towns {
                let shop = GeoShop()
                shop.name = name
                shop.home = spot(place.0, place.1)
                shop.others.append(spot(0, 0))
                shop.byName["old"] = spot(place.0 + 90, place.1)
                try tx.add(shop)
            }
            _ = try tx.create(GeoShop.self, value: ["name": "Nowhere"])
        }
    }

    private func check(_ shape: some GeoShape, _ names: [String]) throws {
        let shops = store.objects(GeoShop.self).sorted(by: \.name)
        #expect(try shops.where { $0.home.geoWithin(shape) }.validate().map(\.name) == names)
        #expect(try shops.filter("home GEOWITHIN $0", shape).map(\.name) == names)
        #expect(try shops.filter("home GEOWITHIN \(shape.text)").map(\.name) == names)
        #expect(try shops.where { !$0.home.geoWithin(shape) }.validate().count == 6 - names.count)
        let text = try shops.where { $0.home.geoWithin(shape) }.queryText
        #expect(try text == shops.filter("home GEOWITHIN \(shape.text)").queryText)
    }

    @Test func shapes() throws {
        let bern = GeoPoint(latitude: 46.9481, longitude: 7.4474)
        func point(_ longitude: Double, _ latitude: Double) -> GeoPoint {
            GeoPoint(latitude: latitude, longitude: longitude)
        }
        try check(GeoBox(bottomLeft: point(7, 46), topRight: point(8, 47)), ["Bern", "Corner", "Thun"])
        try check(GeoCircle(center: bern, radius: .kilometers(30)), ["Bern", "Thun"])
        try check(GeoCircle(center: bern, radius: .miles(43.5)), ["Basel", "Bern", "Corner", "Thun"])
        try check(GeoCircle(center: bern, radius: .degrees(0.3)), ["Bern", "Thun"])
        try check(GeoCircle(center: bern, radiusInRadians: 0), ["Bern"])
        let ring = [point(7, 46), point(8, 46), point(8, 47), point(7, 47)]
        try check(GeoPolygon(outerRing: ring), ["Bern", "Thun"])
        let around = [point(7, 41), point(13, 41), point(13, 48), point(7, 48), point(7, 41)]
        try check(GeoPolygon(outerRing: around, holes: ring), ["Basel", "Corner", "Roma"])
    }

    @Test func collections() throws {
        let zero = GeoBox(
            bottomLeft: GeoPoint(latitude: -1, longitude: -1), topRight: GeoPoint(latitude: 1, longitude: 1))
        let shops = store.objects(GeoShop.self)
        #expect(try shops.where { $0.others.geoWithin(zero) }.validate().count == 5)
        let moved = GeoCircle(center: GeoPoint(latitude: 46.9481, longitude: 97.4474), radius: .kilometers(1))
        #expect(try shops.where { $0.byName.geoWithin(moved) }.validate().map(\.name) == ["Bern"])
    }

    @Test func refused() throws {
        let shops = store.objects(GeoShop.self), far = GeoPoint(latitude: 91, longitude: 0)
        let zero = GeoPoint(latitude: 0, longitude: 0)
        func refuses(_ shape: some GeoShape) {
            #expect(throws: ObjStoreError.self) { try shops.where { $0.home.geoWithin(shape) }.validate() }
            #expect(throws: ObjStoreError.self) { try shops.filter("home GEOWITHIN $0", shape) }
        }
        refuses(GeoBox(bottomLeft: zero, topRight: far))
        refuses(GeoCircle(center: zero, radiusInRadians: .nan))
        refuses(GeoCircle(center: zero, radiusInRadians: -1))
        refuses(GeoCircle(center: GeoPoint(latitude: .nan, longitude: 0), radiusInRadians: 1))
        refuses(GeoPolygon(outerRing: []))
        refuses(GeoPolygon(outerRing: [zero, zero]))
        #expect(throws: ObjStoreError.self) { try shops.filter("home GEOWITHIN $0", "here") }
        #expect(throws: ObjStoreError.self) { try shops.filter("home GEOWITHIN $0", nil) }
        #expect(throws: ObjStoreError.self) {
            try shops.filter("name IN $0", [GeoCircle(center: zero, radiusInRadians: 1)])
        }
    }
}
