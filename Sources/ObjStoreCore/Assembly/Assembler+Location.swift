/// Where in what was given a failure is: as a path of names and indexes, or as the place of a value.
extension Assembler {
    /// The error, with where in the values it came about.
    func described(_ error: StoreError) -> StoreError {
        if isDescribed { return error }
        if let naming = options.naming { return naming(error, self) }
        if path.isEmpty || path.count == 1 && graph?.saysProperties == false { return error }
        return error.prefixed("\(pathText): ")
    }

    var pathText: String {
        path.reduce("$") { text, step in
            switch step {
            case .name(let name): "\(text).\(name)"
            case .property(let cls, let position): "\(text).\(names.name(cls, position))"
            case .index(let index): "\(text)[\(index)]"
            }
        }
    }

    /// Goes one step down; the path stays where a failure is.
    func within<T>(_ step: Step, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        path.append(step)
        let result = try body()
        path.removeLast()
        return result
    }

    /// Index of the value that a failure is about, as far as its path leads.
    var place: Int {
        var index = 0
        for step in path {
            let value = flat[index]
            var next = index + 1, found: Int?
            for number in 0..<max(0, value.kind == .map || value.kind == .list ? Int(value.low) : 0) {
                switch step {
                case .name(let name) where value.kind == .map:
                    if FlatValues.isSame(flat[next], name) { found = next + 1 }
                    next = flat.end(next + 1)
                case .property(let cls, let position) where value.kind == .map:
                    if FlatValues.isSame(flat[next], names.name(cls, position))
                        || FlatValues.isSame(flat[next], cls.properties[position].name)
                    {
                        found = next + 1
                    }
                    next = flat.end(next + 1)
                case .property(let cls, let position) where value.kind == .list:
                    if (declared.positions(cls)?[number] ?? number) == position { found = next }
                    next = flat.end(next)
                case .index(let wanted):
                    if value.kind == .map { next += 1 }
                    if number == wanted { found = next }
                    next = flat.end(next)
                default: break
                }
            }
            // A property that is missing, or the value of a list of them.
            guard let found else { return current > index && current < flat.end(index) ? current : index }
            index = found
        }
        // Somewhere inside of a mixed value.
        return current > index && current < flat.end(index) ? current : index
    }
}
