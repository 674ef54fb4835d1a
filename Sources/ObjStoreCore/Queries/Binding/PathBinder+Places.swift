/// TEXT, of properties that are full text; GEOWITHIN, of a path to places, and a shape.
extension PathBinder {
    mutating func search(_ index: Int) throws(StoreError) -> PathCondition {
        let operands = binder.operands(index)
        let known = properties
        let path = nodes[operands[0]].kind == .quantified ? operands[0] - 1 : operands[0]
        let isFullText = nodes[path].kind == .property ? try self.path(path).1.isFullText : false
        properties = known
        let texts = try side(operands[0]), words = nodes[operands[1]]
        guard isFullText else {
            throw binder.error(
                .wrongType, texts.index,
                """
                \(binder.described(texts.index)): words are searched for in a string property that is marked as full \
                text
                """)
        }
        guard words.kind == .constant, words.value.kind == .string else {
            throw binder.error(
                .wrongType, operands[1],
                "words to search for are expected, a text, and not \(binder.described(operands[1]))")
        }
        // What is not valid is refused there.
        _ = try binder.operand(operands[1])
        let search = TextSearch(UnsafeRawBufferPointer(start: words.value.pointer, count: words.value.count))
        return .comparison(
            PathComparison(
                left: texts.operand, relation: .search(PathComparison.Shared(search)),
                right: PathOperand(source: .constants([.null]))))
    }

    mutating func within(_ index: Int) throws(StoreError) -> PathCondition {
        var places = try side(binder.operands(index)[0])
        guard places.kind == .link, let target = places.target,
            let properties = GeoProperties(binder.trees.schema.classes[target])
        else {
            throw binder.error(
                .wrongType, places.index,
                """
                \(binder.described(places.index)) is no place: an embedded object with a string type, which is \
                "Point", and a list of doubles coordinates
                """)
        }
        self.properties += [properties.type, properties.coordinates]
        places.operand.expands = false
        return .comparison(
            PathComparison(
                left: places.operand, relation: .within(PathComparison.Shared(try shape(index - 1)), properties),
                right: PathOperand(source: .constants([.null]))))
    }

    private func shape(_ index: Int) throws(StoreError) -> GeoShape {
        switch nodes[index].kind {
        case .box:
            let corners = try points(index)
            return .box(corners[0], corners[1])
        case .circle:
            let numbers = try binder.operands(index).map { (node) throws(StoreError) in try number(node) }
            let radius = numbers[2]
            guard radius >= 0, radius.isFinite else {
                throw binder.error(.invalidQuery, index, "a radius of \(radius) radians")
            }
            return .circle(try point(numbers[0], numbers[1], index), radius: radius)
        case .polygon:
            var rings: [[GeoShape.Point]] = []
            for operand in binder.operands(index) {
                let ring = try points(operand)
                guard ring.count >= 4, ring.first == ring.last else {
                    throw binder.error(
                        .invalidQuery, operand,
                        "a ring has at least four points, of which the last one is the first, and not \(ring.count)")
                }
                rings.append(ring)
            }
            return .polygon(rings)
        default:
            throw binder.error(
                .invalidQuery, index,
                "geoBox(…), geoCircle(…) or geoPolygon(…) is expected, and not \(binder.described(index))")
        }
    }

    private func points(_ index: Int) throws(StoreError) -> [GeoShape.Point] {
        let numbers = try binder.operands(index).map { (node) throws(StoreError) in try number(node) }
        guard numbers.count % 2 == 0 else {
            throw binder.error(.invalidQuery, index, "points are pairs of numbers, and these are \(numbers.count)")
        }
        var points: [GeoShape.Point] = []
        for number in stride(from: 0, to: numbers.count, by: 2) {
            points.append(try point(numbers[number], numbers[number + 1], index))
        }
        return points
    }

    private func point(_ longitude: Double, _ latitude: Double, _ index: Int) throws(StoreError) -> GeoShape.Point {
        guard longitude.magnitude <= 180, latitude.magnitude <= 90 else {
            throw binder.error(
                .invalidQuery, index,
                "longitude \(longitude), latitude \(latitude): they are from -180 to 180, and from -90 to 90")
        }
        return GeoShape.Point(longitude: longitude, latitude: latitude)
    }

    private func number(_ index: Int) throws(StoreError) -> Double {
        guard nodes[index].kind == .constant, let number = ValueProgram.number(QueryBinder.plain(nodes[index].value))
        else {
            throw binder.error(.invalidQuery, index, "a number is expected, and not \(binder.described(index))")
        }
        return number
    }
}
