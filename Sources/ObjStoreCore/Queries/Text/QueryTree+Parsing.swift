extension QueryTree {
    /// The nodes of a text. The last one is a `query`.
    ///
    /// ```
    /// query     = condition { step } | step { step }
    /// step      = SORT(path ASC|DESC, …) | DISTINCT(path, …) | LIMIT(n) | OFFSET(n)
    /// condition = condition OR condition | condition AND condition | NOT condition | (condition)
    ///           | TRUEPREDICATE | FALSEPREDICATE | value operator value
    ///           | value BETWEEN {constant, constant} | value GEOWITHIN place
    /// operator  = (== != IN BEGINSWITH ENDSWITH CONTAINS LIKE) with perhaps [c], [d] or [cd] | < <= > >= | TEXT
    /// value     = value + - * / value | -value | (value) | constant | [ANY|ALL|NONE] (path | list)
    ///           | SUBQUERY(path, $x, condition) tail | function(value, …)
    /// path      = (name | @links.Class.name | @links | @self | $x | $K0) { .name | .@links.Class.name | .@keys
    ///           | .@values | .$K0 | [n] | [FIRST] | [LAST] | [*] | ['key'] | [$0] } [tail | .@type]
    /// tail      = .@count | .@size | [SIZE] | (.@min | .@max | .@sum | .@avg) [path of the element]
    /// list      = { constant, … }
    /// constant  = 1  0x1f  1.5  1.5f  inf  nan  "text"  'text'  true  false  null  T12:3  2017-12-1@12:07:53:1  $0
    ///           | oid(…)  uuid(…)  decimal(…)  float(…)  binary('…')  B64'…'  obj('Class', constant)  link(class, key)
    /// place     = geoBox([x, y], [x, y]) | geoCircle([x, y], radius) | geoPolygon({[x, y], …}, …) | $0
    /// ```
    /// Errors: `.invalidQuery` with the position in bytes of UTF-8; `.invalidUTF8`; `.wrongType` of an argument;
    /// `.outOfMemory`.
    package convenience init(parsing text: String, arguments: [QueryArgument] = []) throws(StoreError) {
        var text = text
        // withUTF8 is rethrowing: the error goes around it.
        let result: Result<([QueryNode], UnsafeMutableRawPointer), StoreError> = text.withUTF8 { bytes in
            do throws(StoreError) {
                return .success(try QueryTree.parse(UnsafeRawBufferPointer(bytes), arguments))
            } catch { return .failure(error) }
        }
        let (nodes, memory) = try result.get()
        self.init(nodes, owning: memory)
    }

    /// The same of bytes that a program gave.
    package convenience init(
        parsing text: UnsafeRawBufferPointer, arguments: [QueryArgument] = []
    ) throws(StoreError) {
        if text.count <= QueryLimits.text, !UTF8Check.isValid(text.baseAddress, text.count) {
            throw StoreError(.invalidUTF8, "the query is not valid UTF-8")
        }
        let (nodes, memory) = try QueryTree.parse(text, arguments)
        self.init(nodes, owning: memory)
    }

    /// - Parameter body: reads all of it.
    static func parse(
        _ text: UnsafeRawBufferPointer, _ arguments: [QueryArgument],
        _ body: (inout QueryParser) throws(StoreError) -> Void = { (parser) throws(StoreError) in try parser.query() }
    ) throws(StoreError) -> ([QueryNode], UnsafeMutableRawPointer) {
        guard text.count <= QueryLimits.text else {
            throw StoreError(.invalidQuery, "the query has more than \(QueryLimits.text) bytes")
        }
        guard arguments.count <= QueryLimits.arguments else {
            throw StoreError(.invalidQuery, "the query has more than \(QueryLimits.arguments) arguments")
        }
        // One piece of memory: the text, in which strings become what they mean, then the bytes of the arguments.
        let size = QueryArguments.size(arguments)
        let memory = try Memory.allocate(max(text.count + size, 1))
        do throws(StoreError) {
            if let start = text.baseAddress { memory.copyMemory(from: start, byteCount: text.count) }
            let own = try QueryArguments(arguments, size: size, to: memory + text.count)
            var parser = try QueryParser(text, copy: memory, own)
            try body(&parser)
            return (parser.nodes, memory)
        } catch {
            memory.deallocate()
            throw error
        }
    }
}
