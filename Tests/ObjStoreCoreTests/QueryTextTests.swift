import Testing

import ObjStoreCore

/// The text of queries: what is one and what is none, what it means, and where an error is.
@Suite struct QueryTextTests {
    // MARK: Realm's syntax

    /// From the tests of Realm's parser: all are queries here.
    static let valid = [
        "truepredicate", "truepredicates = falsepredicates",
        #"'azAZ09/ :()[]{}<>,.^@-+=*&~`' = '\" \' \\ \/ \b \f \n \r \t \0'"#,
        #""azAZ09/" = "\" \' \\ \/ \b \f \n \r \t \0""#, #"stringCol == "\"\n\0\r\\'""#, #"'\uffFf' = '\u0020'"#,
        #"'\u01111' = 'asdf\u0111asdf'"#, "你好=5", "-1 = 12", "10. = -.034", "true = false", "true = falsey",
        "nullified = null", "_a = _.aZ", "a09._br.z = __-__.Z-9", "$0=$0", "a$a = a", "0=0", "0 =[c] 0", "0 != 0",
        "0 !=[c] 0", "0!=[c]0", "0 <> 0", "0<>0", "0 <>[c] 0", "0 == 0", "0==[c]0", "0>0", "0 > 0", "0 => 0", "0=>0",
        "0<0", "0 <= 0", "a BETWEEN {4, 5}", "sort > 0", "distinct > 0", "a CONTAINS[c] b", "a contains [c] b",
        "0 BeGiNsWiTh 0", "0 ENDSWITH 0", "desc CONTAINS[c] $0", "in in 'in'", "endswith endswith 'endswith'",
        "(0=0)", "( 0=0 )", "!(0=0)", "NOT0=0", "not-1=1", "not 0=0", "NOT(0=0)", "not (0=0)", "NOT (!0=0)",
        "a==a || a==a", "a==a OR a==a", "TRUEPREDICATE SORT(sort ASCENDING)",
        "TRUEPREDICATE SORT(distinct ASCENDING)", "TRUEPREDICATE SORT(limit ASC)",
        "TRUEPREDICATE DISTINCT(disstinct)", "TRUEPREDICATE DISTINCT(sort)",
        "TRUEPREDICATE DISTINCT(sort, distinct, limit)",
        "TRUEPREDICATE SORT(sort ASC, distinct ASC, limit ASC) DISTINCT(sort, distinct, limit) LIMIT(1)",
        "a=b SORT(p asc)", "a=b sort (p.q desc)", "a=b distinct(p)", "a=b DISTINCT(P)", "a=b DISTINCT(p)",
        "a=b DISTINCT(p) DISTINCT(q)", "a == b sort(a ASC, b DESC) DISTINCT(p)",
        "a == b sort(a ASC, b DESC) DISTINCT(p) sort(c ASC, d DESC) DISTINCT(q.r)",
        "a == b and c==d sort(a ASC, b DESC) DISTINCT(p) sort(c ASC, d DESC) DISTINCT(q.r)", "a BETWEEN {1, 2}",
        "a IN {}", "a == {1, 2}", "a > {1, 2}", "a >= {1, 2}", "a != {1, 2}", "a ==[c] {'a'}",
        "a beginswith {'a', 'b'}", "a endswith {'a', 'b'}", "a like {'a*', 'b*'}", "NONE a IN {1, 2}", "a=b LIMIT(1)",
        "a=b LIMIT( 1234567890 )", "a=b && c=d LIMIT(1)", "a=b && c=d || e=f LIMIT(1)", "a=b LIMIT(2) LIMIT(1)",
        "a=b && c=d LIMIT(5) LIMIT(2)", "SUBQUERY(items, $x, $x.name == 'Tom').@count > 0",
        "SUBQUERY(items, $x, $x.allergens.@min.population_affected < 0.10).@count > 0",
        "p.@links.class.prop.@count > 2", "p.@links.class.prop.@sum.prop2 > 2",
    ]

    /// From the same: none is a query, but for `allowed`.
    static let invalid = [
        "predicate", #"'\a' = ''"#, #"'\u0' = ''"#, #""' = ''"#, "' = ''", "1.0. = 1", "0x = 1", "- = a",
        "a between {1 2}", "0 contains1", "a contains_something", "link geoWithin 5.0", "0=0)", "(0=0", "(0=0))",
        "NOTNOT(0=0)", "not.a=0", "0=0 !", "a==a & a==a", "a==a &| a==a", "a==a AND==a", "a==a ANDa==a",
        "a=1ANDNOT b=2", "a IN {1, 2, 3", "a IN (1, 2, 3)", "a IN [1, 2, 3]", "a IN 1, 2, 3", "SORT(p ASCENDING)",
        "a=b SORT(p)", "a=b SORT(0 Descending)", "a=b sort()", "distinct(p)", "a=b DISTINCT()", "a=b Distinct",
        "sort(a ASC b, DESC) a == b sort(c ASC)", "a=b sort p.q desc", "a=b DISTINCT p", "a=b SORT(p ASC",
        "a=b LIMIT2)", "a=b LIMIT(-1)", "a=b LIMIT(11asdf)", "a=b LIMIT(1, 1)", "INCLUDE(a)", "a=b INCLUDE()",
        "a=b INCLUDE(a", "a=b INCLUDE(1)", "a=b INCLUDE(a,)", "a=b INCLUDE(a b)",
        "SUBQUERY(items, $x, $x.name == 'Tom') > 0", "SUBQUERY(items, $x, $x.name == 'Tom').@min > 0",
        "SUBQUERY(items, $x, $x.name == 'Tom').@max > 0", "SUBQUERY(items, $x, $x.name == 'Tom').@sum > 0",
        "SUBQUERY(items, $x, $x.name == 'Tom').@avg > 0", "SUBQUERY(items, var, var.name == 'Tom').@avg > 0",
        "SUBQUERY(, $x, $x.name == 'Tom').@avg > 0", "SUBQUERY(items, , name == 'Tom').@avg > 0",
        "@backlinks.@count > 2",
    ]

    /// Realm has only the count of a subquery. Here it has all aggregates: of a list of numbers without a property. And
    /// a text needs no condition here.
    static let allowed: Set = [
        "SUBQUERY(items, $x, $x.name == 'Tom').@min > 0", "SUBQUERY(items, $x, $x.name == 'Tom').@max > 0",
        "SUBQUERY(items, $x, $x.name == 'Tom').@sum > 0", "SUBQUERY(items, $x, $x.name == 'Tom').@avg > 0",
        "SORT(p ASCENDING)", "distinct(p)",
    ]

    @Test func realmsQueries() throws {
        let argument = [QueryArgument.value(.int(1))]
        for text in Self.valid {
            let tree = try QueryTree(parsing: text, arguments: argument)
            let canonical = try tree.text()
            #expect(try QueryTree(parsing: canonical).shown == tree.shown, "\(text) as \(canonical)")
        }
    }

    @Test func realmsErrors() {
        for text in Self.invalid where !Self.allowed.contains(text) {
            let error = #expect(throws: StoreError.self, "\(text)") { try QueryTree(parsing: text) }
            #expect(error?.code == .invalidQuery)
            #expect(error.map { (0...text.utf8.count).contains($0.position) } == true, "\(text)")
            #expect(error?.message.contains("\n") == false)
        }
        for text in Self.allowed { #expect(throws: Never.self) { try QueryTree(parsing: text) } }
    }

    // MARK: Meaning

    private func expect(
        _ text: String, _ wanted: String, canonical: String? = nil, _ arguments: [QueryArgument] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let tree = try QueryTree(parsing: text, arguments: arguments)
        #expect(tree.shown == wanted, sourceLocation: sourceLocation)
        let written = try tree.text()
        #expect(written == canonical ?? text, sourceLocation: sourceLocation)
        #expect(try QueryTree(parsing: written).shown == wanted, sourceLocation: sourceLocation)
    }

    @Test func precedence() throws {
        try expect("a == 1 or b == 2 and c == 3", "(or (== .a 1) (and (== .b 2) (== .c 3)))")
        try expect("(a == 1 or b == 2) and c == 3", "(and (or (== .a 1) (== .b 2)) (== .c 3))")
        try expect("a == 1 and b == 2 and c == 3", "(and (== .a 1) (== .b 2) (== .c 3))")
        try expect("a == 1 and (b == 2 and c == 3)", "(and (== .a 1) (and (== .b 2) (== .c 3)))")
        try expect(
            "a == 1 AND b == 2 || c == 3 && d == 4", "(or (and (== .a 1) (== .b 2)) (and (== .c 3) (== .d 4)))",
            canonical: "a == 1 and b == 2 or c == 3 and d == 4")
        try expect("!a == 1 and b == 2", "(and (not (== .a 1)) (== .b 2))", canonical: "!(a == 1) and b == 2")
        try expect("not not (a == 1)", "(not (not (== .a 1)))", canonical: "!(!(a == 1))")
        try expect("a + b * c == d", "(== (+ .a (* .b .c)) .d)")
        try expect("(a + b) * c == d", "(== (* (+ .a .b) .c) .d)")
        try expect("a - b - c == a - (b - c)", "(== (- (- .a .b) .c) (- .a (- .b .c)))")
        try expect("a / b * c == a / (b * c)", "(== (* (/ .a .b) .c) (/ .a (* .b .c)))")
        try expect("((a)) == ((b))", "(== .a .b)", canonical: "a == b")
        try expect("((a == b))", "(== .a .b)", canonical: "a == b")
        try expect("(a + 1) > (2)", "(> (+ .a 1) 2)", canonical: "a + 1 > 2")
        try expect("-a * -b == -(-1)", "(== (* (negate .a) (negate .b)) (negate -1))")
        try expect("-(a + b) == -(1)", "(== (negate (+ .a .b)) (negate 1))")
        try expect("a -1 == - 1", "(== (- .a 1) -1)", canonical: "a - 1 == -1")
        try expect("a-1 == 0", "(== .a-1 0)")
        try expect("a == $0-1", "(== .a (- 7 1))", canonical: "a == 7 - 1", [.value(.int(7))])
        try expect(#"a == b.\$0-1"#, "(== .a .b.$0-1)")
    }

    @Test func operators() throws {
        for (text, canonical) in [
            ("=", "=="), ("==", "=="), ("!=", "!="), ("<>", "!="), ("<", "<"), ("<=", "<="), ("=<", "<="), (">", ">"),
            (">=", ">="), ("=>", ">="), ("IN", "IN"), ("in", "IN"), ("BeginsWith", "BEGINSWITH"),
            ("endswith", "ENDSWITH"), ("CONTAINS", "CONTAINS"), ("like", "LIKE"), ("text", "TEXT"),
            ("==[c]", "==[c]"), ("!= [D]", "!=[d]"), ("IN[dc]", "IN[cd]"), ("contains [cd]", "CONTAINS[cd]"),
            ("LIKE[c]", "LIKE[c]"),
        ] {
            try expect("a \(text) b", "(\(canonical) .a .b)", canonical: "a \(canonical) b")
        }
        try expect("a between {1, $0}", "(BETWEEN .a (list 1 2))", canonical: "a BETWEEN {1, 2}", [.value(.int(2))])
        try expect(
            "a BETWEEN $0", "(BETWEEN .a (list 1 2))", canonical: "a BETWEEN {1, 2}", [.list([.int(1), .int(2)])])
        try expect(
            "ANY {1, 2} + 2 > ALL a.b", "(> (+ (any (list 1 2)) 2) (all .a.b))",
            canonical: "ANY {1, 2} + 2 > ALL a.b")
        try expect("NONE a == some $0", "(== (none .a) (any (list)))", canonical: "NONE a == ANY {}", [.list([])])
    }

    @Test func paths() throws {
        try expect("a.b[0].c[FIRST][LAST][*]['k y'] == 1", "(== .a.b[0].c[first][last][*]['k y'] 1)")
        try expect(#"a["x"][-1][SIZE] == 1"#, "(== .a['x'][-1]#count 1)", canonical: "a['x'][-1].@count == 1")
        try expect(
            "a[$0][$1] == 1", "(== .a['k'][3] 1)", canonical: "a['k'][3] == 1", [.text("k"), .value(.int(3))])
        try expect("a.@size == b.@type", "(== .a#count .b#type)", canonical: "a.@count == b.@type")
        try expect("ANY m.@keys == m.@values.x", "(== (any .m#keys) .m#values.x)")
        try expect("@links.Dog.owner.name == a.@links.C.p.@count", "(== @Dog/owner.name .a@C/p#count)")
        try expect(
            "@links.@count == a.@links.@size", "(== @all#count .a@all#count)",
            canonical: "@links.@count == a.@links.@count")
        try expect(
            "a.@sum.b.c > a.@min", "(> (sum .a 1.b.c) (minimum .a 1))")
        try expect("a.@max.b[0] > a.@avg.@links.C.p", "(> (maximum .a 1.b[0]) (average .a 1@C/p))")
        try expect("@self == @self.@type", "(== 0 0#type)")
        try expect("@self.null == @self.any.null", "(== .null .any.null)")
        try expect("a.$x == $x", "(== .a.$x .$x)", canonical: "a.$x == @self.$x")
        try expect("in in in", "(IN .in .in)", canonical: "in IN in")
        try expect("Not == oid.uuid", "(== .Not .oid.uuid)")
        try expect(#"a\ b.\u0031\.\t.\$0.\- == 1"#, "(== .a b.1.\t.$0.- 1)")
        try expect(
            "$K0.c == $K1", "(== .a.b[0].c .x y)", canonical: #"a.b[0].c == x\ y"#, [.text("a.b[0]"), .text(#"x\ y"#)])
        try expect(#"$K0 == a.$K0"#, "(== .x y .a.x y)", canonical: #"x\ y == a.x\ y"#, [.text(#"x\ y"#)])
    }

    @Test func subqueries() throws {
        try expect("SUBQUERY(a, $x, $x.b > c).@count > 0", "(> (filter .a (> 1.b .c))#count 0)")
        try expect(
            "SUBQUERY(a, $it, SUBQUERY($it.b, $u, $u == $it.@sum.c).@count == 1).@max.d > 0",
            "(> (maximum (filter .a (== (filter 1.b (== 2 (sum 1 3.c)))#count 1)) 1.d) 0)",
            canonical: "SUBQUERY(a, $x, SUBQUERY($x.b, $y, $y == $x.@sum.c).@count == 1).@max.d > 0")
        try expect(
            "!SUBQUERY(a.b, $x, !TRUEPREDICATE AND $x > 1).@sum + 1 > 0 and c == 1",
            "(and (not (> (+ (sum (filter .a.b (and (not true!) (> 1 1))) 1) 1) 0)) (== .c 1))",
            canonical: "!(SUBQUERY(a.b, $x, !(TRUEPREDICATE) and $x > 1).@sum + 1 > 0) and c == 1")
        // A variable hides that of the same name outside, and ends with its subquery.
        try expect(
            "SUBQUERY(a, $x, SUBQUERY($x.b, $x, $x > 1).@count > $x).@count > $x",
            "(> (filter .a (> (filter 1.b (> 2 1))#count 1))#count .$x)",
            canonical: "SUBQUERY(a, $x, SUBQUERY($x.b, $y, $y > 1).@count > $x).@count > @self.$x")
    }

    @Test func steps() throws {
        try expect(
            "TRUEPREDICATE SORT(a.b DESC, c[cd] asc) DISTINCT(a, b['k']) offset(2) LIMIT($0)",
            "(query true! (sort (desc .a.b) (asc[cd] .c)) (distinct .a .b['k']) (offset 2) (limit 7))",
            canonical: "TRUEPREDICATE SORT(a.b DESC, c[cd] ASC) DISTINCT(a, b['k']) OFFSET(2) LIMIT(7)",
            [.value(.int(7))])
        try expect("limit > 1 LIMIT(1) LIMIT(2)", "(query (> .limit 1) (limit 1) (limit 2))")
    }

    @Test func places() throws {
        try expect(
            "a GEOWITHIN geoBox([0.5, -1.0], [1.0, 2.0])", "(GEOWITHIN .a (box 0.5 -1.0 1.0 2.0))")
        try expect(
            "a geoWithin GEOCIRCLE([$0, 1, 99], 1e-3)", "(GEOWITHIN .a (circle 5.0 1.0 0.001))",
            canonical: "a GEOWITHIN geoCircle([5.0, 1.0], 0.001)", [.value(.int(5))])
        try expect(
            "ALL a GEOWITHIN geoPolygon({[0, 0], [1, 0]}{[2, 3]}, {[4, 5]})",
            "(GEOWITHIN (all .a) (polygon (list 0.0 0.0 1.0 0.0) (list 2.0 3.0) (list 4.0 5.0)))",
            canonical: "ALL a GEOWITHIN geoPolygon({[0.0, 0.0], [1.0, 0.0]}, {[2.0, 3.0]}, {[4.0, 5.0]})")
        func place(_ text: StaticString) -> QueryArgument {
            .value(Value(kind: .string, pointer: UnsafeRawPointer(text.utf8Start), count: text.utf8CodeUnitCount))
        }
        try expect(
            "a GEOWITHIN $1 AND b == $0", "(and (GEOWITHIN .a (circle 1.0 2.0 3.0)) (== .b 7))",
            canonical: "a GEOWITHIN geoCircle([1.0, 2.0], 3.0) and b == 7",
            [.value(.int(7)), place("geoCircle([1, 2], 3) ")])
        try expect(
            "a GEOWITHIN $0", "(GEOWITHIN .a (polygon (list 0.0 0.0 1.0 0.0) (list 2.0 3.0)))",
            canonical: "a GEOWITHIN geoPolygon({[0.0, 0.0], [1.0, 0.0]}, {[2.0, 3.0]})",
            [place("geoPolygon({[0, 0], [1, 0]}, {[2, 3]})")])
        for (argument, message) in [
            (QueryArgument.value(.null), "$0 is no text of a box, circle or polygon, at byte 12"),
            (.list([]), "$0 is no text of a box, circle or polygon"), (.value(.int(3)), "$0 is no text of a box"),
            (place(""), "in the argument for the place: geoBox, geoCircle, geoPolygon or an argument"),
            (place("somewhere"), "in the argument for the place: geoBox"),
            (
                place("geoBox([1, 2], [3, 4]"),
                "in the argument for the place: \")\" was expected at byte 21, not the end of the place"
            ),
            (place("geoBox([1, 2], [3, 4])) OR TRUEPREDICATE"), "in the argument for the place: the end was expected"),
            (place("geoBox([$0, 2], [3, 4])"), "in the argument for the place: the query asks for argument"),
            (place("$0"), "in the argument for the place: the query asks for argument"),
        ] {
            let error = #expect(throws: StoreError.self) {
                try QueryTree(parsing: "a GEOWITHIN $0", arguments: [argument])
            }
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
            #expect(error?.code == .invalidQuery)
        }
    }
}
