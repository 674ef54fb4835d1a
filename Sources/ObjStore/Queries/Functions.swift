internal import ObjStoreCore

extension Store {
    /// Gives queries of this store a function to call, or another one of that name:
    /// ```swift
    /// let haversine = try store.defineFunction("haversine") { (a: Double, b: Double, c: Double, d: Double) in … }
    /// store.objects(City.self).where { haversine($0.lat, $0.lon, 46.9, 7.4) < 50 }
    /// try store.objects(City.self).filter("haversine(lat, lon, $0, $1) < 50", 46.9, 7.4)
    /// ```
    /// Where an argument is null that is no optional, the result is null, and `body` is not called. It is called on the
    /// thread that asks, by several at the same time; how often, and for which objects, is not promised. It may read
    /// the store and ask queries; a write that it is asked in it cannot change or end (`.inCallback`). What it throws
    /// ends the query, with `.callback`, and is the ``ObjStoreError/cause`` of that.
    ///
    /// Functions belong to the store as it is open, not to its file. A query keeps those that it was made with. The
    /// store keeps `body`: one that uses the store captures it `[unowned store]`, or keeps it open.
    ///
    /// - Parameter name: letters, digits and underscores of ASCII, no digit first, and no word of the query language.
    /// - Returns: the function for `where` and `sorted`; it keeps the store open.
    /// Errors: `.invalidArgument`: the name; `.closedHandle`.
    @discardableResult
    public func defineFunction<each Argument: FunctionValue, Result: FunctionValue>(
        _ name: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Result
    ) throws(ObjStoreError) -> DefinedFunction<Result> {
        var parameters: [FunctionSignature.Parameter] = []
        repeat parameters.append((each Argument).parameter)
        try define(name, FunctionSignature(parameters, Result.parameter)) {
            .row { (values, texts) throws(StoreError) in
                var next = 0
                func argument<Value: FunctionValue>(_ type: Value.Type) -> Value {
                    defer { next += 1 }
                    return type._argument(_FunctionArgument(value: values[next]))
                }
                let result = try called { try body(repeat argument((each Argument).self)) }
                return try kept(result._queryValue, texts)
            }
        }
        return DefinedFunction(name, space)
    }

    /// The same with a function that is called once for up to 4,096 objects, with an array for each argument, and that
    /// returns as many values: nanoseconds an object.
    /// ```swift
    /// try store.defineFunction("squared", columns: { (x: [Double]) in x.map { $0 * $0 } })
    /// ```
    /// Texts and bytes are no results. Errors: `.invalidArgument`: these, or the name; `.closedHandle`.
    @discardableResult
    public func defineFunction<each Argument: FunctionValue, Result: FunctionValue>(
        _ name: String, columns body: @escaping @Sendable (repeat [each Argument]) throws -> [Result]
    ) throws(ObjStoreError) -> DefinedFunction<Result> {
        var parameters: [FunctionSignature.Parameter] = []
        repeat parameters.append((each Argument).parameter)
        guard !Result.parameter.kind.hasBytes else {
            throw ObjStoreError(.invalidArgument, "a function with columns returns no texts and no bytes")
        }
        try define(name, FunctionSignature(parameters, Result.parameter, isBatch: true)) {
            .batch { (columns, count, output) throws(StoreError) in
                var next = 0
                func column<Value: FunctionValue>(_ type: Value.Type) -> [Value] {
                    defer { next += 1 }
                    return type._arguments(_FunctionArguments(column: columns[next], count: count))
                }
                let results = try called { try body(repeat column((each Argument).self)) }
                guard results.count == count else {
                    throw StoreError(
                        .outOfRange, "it returned \(results.count.counted("value")) for \(count.counted("object"))")
                }
                for (row, result) in results.enumerated() {
                    do throws(ObjStoreError) { try result._queryValue.withValue { output.fill(row, $0) } } catch {
                        throw error.ofCore
                    }
                }
            }
        }
        return DefinedFunction(name, space)
    }

    private func define(
        _ name: String, _ signature: FunctionSignature, _ body: () -> ObjStoreCore.QueryFunction.Body
    ) throws(ObjStoreError) {
        let body = body()
        try core { () throws(StoreError) in
            try handle.store.define(try ObjStoreCore.QueryFunction(name, signature, body))
        }
    }

    /// Who is told how far the queries of this store have come that are asked from now on; nil: nobody.
    ///
    /// `progress` is called on the thread that asks, by several at the same time if several ask, about each `interval`,
    /// and not before that has passed: with the objects that were looked at, also of classes that links lead to, and
    /// with how many the class has. What it throws ends the query, which throws `.cancelled` with it as the
    /// ``ObjStoreError/cause``:
    /// ```swift
    /// try store.watchQueries(every: .milliseconds(100)) { _, _ in try Task.checkCancellation() }
    /// ```
    /// It may read the store. It is called while objects are sorted, too, when all have been looked at.
    ///
    /// Errors: `.closedHandle`; `.outOfRange`: a negative interval.
    public func watchQueries(
        every interval: Duration, _ progress: (@Sendable (_ done: Int, _ total: Int) throws -> Void)?
    ) throws(ObjStoreError) {
        guard interval >= .zero else { throw ObjStoreError(.outOfRange, "an interval of \(interval)") }
        let (seconds, attoseconds) = interval.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let nanoseconds = isTooLong ? .max / 2 : min(.max / 2, whole + attoseconds / 1_000_000_000)
        let watch = progress.map { progress in
            QueryWatch(every: nanoseconds) { (done, total) throws(StoreError) in
                try called(.cancelled) { try progress(Int(done), Int(total)) }
            }
        }
        try core { () throws(StoreError) in try handle.store.watchQueries(watch) }
    }

    /// Forgets a function; queries that were made with it keep it. Errors: `.notFound`, `.closedHandle`.
    public func undefineFunction(_ name: String) throws(ObjStoreError) {
        try core { () throws(StoreError) in try handle.store.undefine(name) }
    }
}

/// What a function of the application gives; what it throws is the cause of the error.
private func called<Result>(
    _ code: StatusCode = .callback, _ body: () throws -> Result
) throws(StoreError) -> Result {
    let result = try ApplicationCall.run { Swift.Result { try body() } }
    switch result {
    case .success(let value): return value
    case .failure(let error): throw StoreError(code, "\(error)").caused(by: error)
    }
}

/// A value with its bytes in memory that stays.
private func kept(_ value: _QueryValue, _ texts: FunctionTexts) throws(StoreError) -> Value {
    let found: Result<Value, StoreError>
    do throws(ObjStoreError) {
        found = try value.withValue { value in
            Result { () throws(StoreError) in try texts.keep(value) }
        }
    } catch { throw error.ofCore }
    return try found.get()
}

/// A function that a store was given, for `where`: `{ haversine($0.lat, $0.lon, 46.9, 7.4) < 50 }`.
public struct DefinedFunction<Result: FunctionValue>: Sendable {
    public let name: String
    private let space: ObjectSpace

    init(_ name: String, _ space: ObjectSpace) {
        self.name = name
        self.space = space
    }

    /// A call, with properties, what is computed of them, and constants.
    public func callAsFunction<each Operand: FunctionOperand>(_ operands: repeat each Operand) -> Query<Result> {
        var call = _FunctionOperands()
        repeat (each operands)._append(to: &call)
        return call.query(name, QueryScope(space: space, model: -1))
    }
}

extension Query {
    /// What the function of that name gives for these arguments: properties, what is computed of them, and constants.
    /// `{ $0.call("haversine", $0.lat, $0.lon, 46.9, 7.4) < 50.0 }`
    public func call<Result: FunctionValue, each Operand: FunctionOperand>(
        _ name: String, _ operands: repeat each Operand
    ) -> Query<Result> {
        var call = _FunctionOperands()
        repeat (each operands)._append(to: &call)
        return call.query(name, scope.computed)
    }
}

/// What a function can be called with in `where`: a ``Query``, or a constant.
public protocol FunctionOperand {
    func _append(to operands: inout _FunctionOperands)
}

/// The arguments of a call, one behind the other.
public struct _FunctionOperands {
    private var nodes = QueryNodes()
    private var count = 0
    private var scope: QueryScope?

    fileprivate mutating func append<Value>(_ query: Query<Value>) {
        nodes.append(query.nodes)
        scope = scope.map { $0.with(query.scope) } ?? query.scope.computed
        count += 1
    }

    fileprivate mutating func append(constant: _QueryValue) {
        nodes.append(constant: constant)
        count += 1
    }

    fileprivate func query<Result>(_ name: String, _ otherwise: QueryScope) -> Query<Result> {
        var nodes = nodes
        nodes.append(call: name, operands: count)
        return Query<Result>(nodes, scope ?? otherwise)
    }
}

extension Query: FunctionOperand where Value: QueryOperand {
    public func _append(to operands: inout _FunctionOperands) { operands.append(self) }
}

extension FunctionOperand where Self: FunctionValue {
    public func _append(to operands: inout _FunctionOperands) { operands.append(constant: _queryValue) }
}

extension Bool: FunctionOperand {}
extension Int: FunctionOperand {}
extension Int64: FunctionOperand {}
extension Float: FunctionOperand {}
extension Double: FunctionOperand {}
extension String: FunctionOperand {}
extension Array: FunctionOperand where Element == UInt8 {}
extension Timestamp: FunctionOperand {}
extension Optional: FunctionOperand where Wrapped: FunctionValue {}

extension Results {
    /// In the order of what is computed of each: `.sorted { haversine($0.lat, $0.lon, 46.9, 7.4) }`. Null comes first,
    /// ascending.
    public func sorted<Value: QueryOperand>(
        ascending: Bool = true, by value: (Query<Element>) -> Query<Value>
    ) -> Results {
        then { (view, binding) throws(ObjStoreError) in
            let made = value(Query(.object, QueryScope(space: space, model: binding.position)))
            guard made.scope.space.handle === space.handle else {
                throw ObjStoreError(.wrongStore, "what is sorted by was made of objects of another store")
            }
            return try QueryNodes.sort(by: made.nodes, ascending: ascending).query(view, binding.classID)
        }
    }
}
