internal import ObjStoreCore

extension KeyPaths {
    /// Where the key path of a projection leads: the properties that it reads one behind the other.
    struct Projected {
        struct Step {
            let info: ClassInfo
            /// Those of inverses follow those of properties.
            let index: Int
            let accessor: any Persistable.Type

            var isInverse: Bool { index >= info.properties.count }
            var name: String {
                isInverse ? info.inverses[index - info.properties.count].name : info.properties[index].name
            }
            var offset: Int {
                isInverse ? info.inverses[index - info.properties.count].offset : info.properties[index].offset
            }
        }

        let steps: [Step]
        /// Of each element of a collection, what is read of it.
        let behind: [AnyProjectedPath.Step]
        /// It ends with the last step: nothing is made of the value.
        let isExact: Bool

        /// The object that has the last property; nil: something on the way is null.
        func end(from root: Object) -> Object? {
            var object = root
            for step in steps.dropLast() {
                guard let next = ClassInfo.unwrap(step.accessor._anyValue(object, step.offset)) as? Object else {
                    return nil
                }
                object = next
            }
            return object
        }

        /// What a read gives that fails; nil: nothing that is known here.
        var zero: Any? {
            guard isExact, let last = steps.last?.accessor as? any _PersistableValue.Type else { return nil }
            func zero<Value: _PersistableValue>(_: Value.Type) -> Any { Value._initial }
            return zero(last)
        }

        /// What is null on the way.
        func absent(_ root: Object) -> ObjStoreError {
            var object = root
            for (number, step) in steps.enumerated().dropLast() {
                guard let next = ClassInfo.unwrap(step.accessor._anyValue(object, step.offset)) as? Object else {
                    let path = "\(steps[0].info.name).\(steps.map(\.name).joined(separator: "."))"
                    return ObjStoreError(
                        .noSuchObject, "\(path): there is no object, \(step.info.name).\(step.name) is nil",
                        class: step.info.name, property: steps[number].name)
                }
                object = next
            }
            return ObjStoreError(.noSuchObject, "what is projected was deleted", class: steps.first?.info.name)
        }
    }

    /// Errors: `.invalidQuery` where it does not lead straight through `@Persisted` properties.
    static func projected<Root: Object>(_ keyPath: PartialKeyPath<Root>) throws(ObjStoreError) -> Projected {
        let info = try ClassInfo.of(Root.self), tracer = _Tracer()
        let value = prototype(Root.self, info, tracer)[keyPath: keyPath]
        guard tracer.isStraight, !tracer.path.isEmpty else { throw noProperty(info) }
        let infos = try classes(tracer.path, info)
        var steps: [Projected.Step] = []
        for (info, index) in zip(infos, tracer.path) {
            guard let accessor = info.accessor(Int(index)) else { throw noProperty(info) }
            steps.append(Projected.Step(info: info, index: Int(index), accessor: accessor))
        }
        guard steps.count == tracer.path.count, let last = steps.last else { throw noProperty(info) }
        let isExact = ends(value, at: last.accessor, keyPath, isBehindLink: steps.count > 1)
        let member = try (value as? any AnyProjectedCollection)?.memberSteps()
        return Projected(steps: steps, behind: member ?? [], isExact: isExact)
    }

    /// Whether the value is that of the last property itself. Behind a link it is an optional, `\.address?.city`, if
    /// that is not unwrapped by force, `\.address!.city`; a computed property looks like that, but for its
    /// description.
    private static func ends(
        _ value: Any, at accessor: any Persistable.Type, _ keyPath: AnyKeyPath, isBehindLink: Bool
    ) -> Bool {
        let type = type(of: keyPath).valueType
        if ends(value, type, at: accessor, isBehindLink: isBehindLink) { return true }
        return isBehindLink && keyPath.debugDescription.contains("!")
            && ends(value, type, at: accessor, isBehindLink: false)
    }
}
