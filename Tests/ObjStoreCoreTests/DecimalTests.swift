import Testing

import ObjStoreCore

/// Decimals against vectors that Python's `decimal` made, and against `NaiveDecimal`.
@Suite struct DecimalTests {
    /// Text, bits 0 to 63, bits 64 to 127, and the place among all numbers here: equal numbers share one, NaN has the
    /// last.
    static let vectors: [(text: String, low: UInt64, high: UInt64, place: Int)] = [
        ("0", 0x0000000000000000, 0x3040000000000000, 36),
        ("-0", 0x0000000000000000, 0xb040000000000000, 36),
        ("0.00", 0x0000000000000000, 0x303c000000000000, 36),
        ("0E-6176", 0x0000000000000000, 0x0000000000000000, 36),
        ("0E+6111", 0x0000000000000000, 0x5ffe000000000000, 36),
        ("1", 0x0000000000000001, 0x3040000000000000, 53),
        ("-1", 0x0000000000000001, 0xb040000000000000, 27),
        ("1.0", 0x000000000000000a, 0x303e000000000000, 53),
        ("1.00", 0x0000000000000064, 0x303c000000000000, 53),
        ("10", 0x000000000000000a, 0x3040000000000000, 55),
        ("1E+1", 0x0000000000000001, 0x3042000000000000, 55),
        ("0.1", 0x0000000000000001, 0x303e000000000000, 50),
        ("-0.001", 0x0000000000000001, 0xb03a000000000000, 31),
        ("0.000001", 0x0000000000000001, 0x3034000000000000, 47),
        ("1E-7", 0x0000000000000001, 0x3032000000000000, 46),
        ("1E-6176", 0x0000000000000001, 0x0000000000000000, 37),
        ("-1E-6176", 0x0000000000000001, 0x8000000000000000, 35),
        ("9.999999999999999999999999999999999E+6144", 0x378d8e63ffffffff, 0x5fffed09bead87c0, 85),
        ("-9.999999999999999999999999999999999E+6144", 0x378d8e63ffffffff, 0xdfffed09bead87c0, 1),
        ("1.000000000000000000000000000000000E+6144", 0x38c15b0a00000000, 0x5ffe314dc6448d93, 84),
        ("9999999999999999999999999999999999", 0x378d8e63ffffffff, 0x3041ed09bead87c0, 77),
        ("1234567890123456789012345678901234", 0xde825cd07e96aff2, 0x30403cde6fff9732, 76),
        ("0.1234567890123456789012345678901234", 0xde825cd07e96aff2, 0x2ffc3cde6fff9732, 51),
        ("12.50", 0x00000000000004e2, 0x303c000000000000, 56),
        ("1E+3", 0x0000000000000001, 0x3046000000000000, 58),
        ("1.5E+10", 0x000000000000000f, 0x3052000000000000, 66),
        ("0.00123", 0x000000000000007b, 0x3036000000000000, 49),
        ("Infinity", 0x0000000000000000, 0x7800000000000000, 86),
        ("-Infinity", 0x0000000000000000, 0xf800000000000000, 0),
        ("NaN", 0x0000000000000000, 0x7c00000000000000, 87),
        ("-NaN", 0x0000000000000000, 0xfc00000000000000, 87),
        ("sNaN", 0x0000000000000000, 0x7e00000000000000, 87),
        ("7E+6111", 0x0000000000000007, 0x5ffe000000000000, 83),
        ("3.14159265358979323846", 0x07d5eb5b5ba4d7c6, 0x3018000000000011, 54),
        ("1E-6143", 0x0000000000000001, 0x0042000000000000, 38),
        ("5E-324", 0x0000000000000005, 0x2db8000000000000, 42),
        ("2.2250738585072014E-308", 0x004f0cedc95a718e, 0x2db8000000000000, 43),
        ("463951277996445748708", 0x269e0d37f2a74de4, 0x3040000000000019, 71),
        ("4532761067154.7900448501", 0x36f675cc81e74ef5, 0x302c000000000999, 67),
        ("9.926782207195097E+794", 0x0023445b1738f7d9, 0x3656000000000000, 79),
        ("-7.06426044461880E+3389", 0x0002827da170b338, 0xca9e000000000000, 2),
        ("-36.22", 0x0000000000000e26, 0xb03c000000000000, 26),
        ("1.45819732542393046346360484E+3203", 0x8a6a63ec24ede6a4, 0x4912000000789e87, 82),
        ("97576.31", 0x000000000094e3bf, 0x303c000000000000, 61),
        ("-739.72", 0x00000000000120f4, 0xb03c000000000000, 25),
        ("-92221950665908893009602455.28", 0x506bf2efc6f87718, 0xb03c00001dcc6bc4, 10),
        ("-3238391573148711", 0x000b814ccb5c7427, 0xb040000000000000, 16),
        ("7.574952602773908136670720002355718E+1210", 0xe00902c77ebff206, 0x3973757957ee05cd, 80),
        ("687104.61", 0x000000000418703d, 0x303c000000000000, 62),
        ("-9.2978849945814024342108433739654E+34", 0xc3baea9e13deef86, 0xb04604958ede0d7a, 6),
        ("1112808706228380644567.3156707099", 0xcc011cdd9474031b, 0x302c008c74c9df6a, 72),
        ("-5.072E+36", 0x00000000000013d0, 0xb082000000000000, 5),
        ("-7116595950230235986", 0x62c33a4fb774eb52, 0xb040000000000000, 15),
        ("-177016970432434272481.02", 0x9c6539382b0537e6, 0xb03c0000000003bf, 13),
        ("-0.0792811641", 0x000000002f415879, 0xb02c000000000000, 28),
        ("-1.74447E+1188", 0x000000000002a96f, 0xb97e000000000000, 3),
        ("-8796950.30", 0x00000000346f14b6, 0xb03c000000000000, 21),
        ("57496365012446217695268", 0xe25a7605aec6f024, 0x3040000000000c2c, 73),
        ("0.9586181750", 0x000000023b618676, 0x302c000000000000, 52),
        ("-5.89949328727228E-3776", 0x0002188e482c9cbc, 0x92a4000000000000, 33),
        ("8.13971648992618887616E+59", 0x20203626f3fe39c0, 0x308e00000000002c, 78),
        ("-69703932116379842573.1432716435", 0xae3a2b7fdfe01893, 0xb02c0008cc4169a3, 14),
        ("8078612", 0x00000000007b4514, 0x3040000000000000, 64),
        ("-27363", 0x0000000000006ae3, 0xb040000000000000, 23),
        ("16.77", 0x000000000000068d, 0x303c000000000000, 57),
        ("8500306710008.8237941408", 0x068739fa9d1de2a0, 0x302c000000001200, 68),
        ("5006411.0000901500", 0x00b1dd0af4998d7c, 0x302c000000000000, 63),
        ("-0.0065507385", 0x0000000003e79039, 0xb02c000000000000, 30),
        ("-1.51118E+8", 0x0000000000024e4e, 0xb046000000000000, 20),
        ("-5.241849210378541928822023904699E-5768", 0xb12aa1f6d42fddbb, 0x82f4004229540a6e, 34),
        ("39262262.43", 0x00000000ea057543, 0x303c000000000000, 65),
        ("-528470107083018.48", 0x00bbc01384b5a818, 0xb03c000000000000, 17),
        ("91367.9616607826", 0x00033efc9cfc8652, 0x302c000000000000, 60),
        ("-8669467244728", 0x000007e28483f8b8, 0xb040000000000000, 18),
        ("-6.155435754260213331223203364946E+47", 0x3192b70442594052, 0xb062004db1491e24, 4),
        ("-1234865716414482511394.83", 0x38703800149e259b, 0xb03c000000001a26, 12),
        ("-8782.9859216053", 0x00004fe17b8f2ab5, 0xb02c000000000000, 24),
        ("0.0000875192", 0x00000000000d5ab8, 0x302c000000000000, 48),
        ("-8036423500138359058343335967166", 0x2db3997fe39639be, 0xb04000656f15b6ad, 8),
        ("1542411498138764953182242921.74", 0xbe4c5ce666c1494e, 0x303c0001f26149ed, 74),
        ("1.9E+20", 0x0000000000000013, 0x3066000000000000, 70),
        ("15330972313477562804828081182.97", 0xeffddeeaa842bc19, 0x303c001359b44e92, 75),
        ("1E-10", 0x0000000000000001, 0x302c000000000000, 44),
        ("3.5442190358738E-2677", 0x0000203c072a98d2, 0x1b3c000000000000, 40),
        ("-4.89656882071521835825E-13", 0x8b5ab3ee4265bb31, 0xaffe00000000001a, 32),
        ("6.44185433081089690734282386252E-3660", 0x806c10b5e0cfab4c, 0x136e00082179b37d, 39),
        ("-482146662589915227918303957.94", 0x2ee0289dc6c91b92, 0xb03c00009bca3cb7, 9),
        ("-7.4688894E+8", 0x000000000473a97e, 0xb042000000000000, 19),
        ("-94002.09", 0x00000000008f6f91, 0xb03c000000000000, 22),
        ("7.90E-8", 0x0000000000000316, 0x302c000000000000, 45),
        ("5.8097E-838", 0x000000000000e2f1, 0x29ac000000000000, 41),
        ("5.85864155644096259E+2578", 0x0821685873ccef03, 0x4442000000000000, 81),
        ("-96349322624336480159346882482424.52", 0xe040015ce064a114, 0xb03ddb09f132bf2d, 7),
        ("-0.0447360632", 0x000000001aaa2e78, 0xb02c000000000000, 29),
        ("87969", 0x00000000000157a1, 0x3040000000000000, 59),
        ("395309851140086948.19", 0x249a45845dbe3023, 0x303c000000000002, 69),
        ("-251913254172904392257018.92", 0x7cbd1f5ae28af604, 0xb03c00000014d678, 11),
    ]

    @Test func textBothWays() throws {
        for (text, low, high, _) in Self.vectors {
            let value = Decimal128(low: low, high: high)
            #expect(value.text == text)
            let read = try Decimal128(text)
            #expect(
                read.low == low && read.high == high,
                "\(text) is read as \(String(read.high, radix: 16)) \(String(read.low, radix: 16))")
        }
    }

    @Test(arguments: [
        ("+1.50", "1.50"),
        ("1e3", "1E+3"),
        (".5", "0.5"),
        ("5.", "5"),
        ("00012", "12"),
        ("inf", "Infinity"),
        ("-INFINITY", "-Infinity"),
        ("nan", "NaN"),
        ("10000000000000000000000000000000000000000", "1.000000000000000000000000000000000E+40"),
        ("1E+6144", "1.000000000000000000000000000000000E+6144"),
        ("0E-9999", "0E-6176"),
        ("0E+9999", "0E+6111"),
        ("1000E-6179", "1E-6176"),
        ("1.00000000000000000000000000000000000000000000000000", "1.000000000000000000000000000000000"),
        ("0000000000000000000000000000000000000000000000000000000000007", "7"),
        ("12E+6142", "1.20000000000000000000000000000000E+6143"),
    ])
    func otherSpellings(_ text: String, _ plain: String) throws {
        #expect(try Decimal128(text).text == plain)
    }

    private func refusal(_ text: String) -> StoreError? {
        do throws(StoreError) {
            _ = try Decimal128(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func whatIsNoNumber() throws {
        for text in [
            "", " ", "1 ", " 1", "-", "+", ".", "1.2.3", "e5", "1e", "1e+", "0x10", "1,5", "infinit", "nano", "--1",
            "1e5.5", "١",
        ] {
            #expect(refusal(text)?.code == .invalidArgument, "\(text)")
        }
        for text in [
            "12345678901234567890123456789012345", "1E+6145", "1E-6177", "15E-6177", "1E99999999999999999999",
            "-1E-99999999999999999999", "1.2345678901234567890123456789012345",
        ] {
            let error = refusal(text)
            #expect(
                error?.code == .outOfRange && error?.message.contains("not exactly") == true,
                "\(text): \(String(describing: error))")
        }
    }

    @Test func orderOfTheVectors() {
        for a in Self.vectors {
            for b in Self.vectors {
                let x = Decimal128(low: a.low, high: a.high), y = Decimal128(low: b.low, high: b.high)
                #expect((x < y) == (a.place < b.place) && (x == y) == (a.place == b.place), "\(a.text) and \(b.text)")
                if a.place == b.place { #expect(x.hashValue == y.hashValue) }
            }
        }
    }

    /// Every number of digits with the first, the last and a middle number, at both ends of the exponents: where the
    /// count of digits and the scale could be one off.
    @Test func everyLengthAtTheEdges() {
        var values: [NaiveDecimal] = NaiveDecimal.edges.map { NaiveDecimal($0.0, $0.1) }
        for digits in 1...34 {
            let low = Decimal128.power(digits - 1), high = Decimal128.power(digits) - 1
            for coefficient in [low, low + (digits > 1 ? 1 : 0), high, high / 2 + 1] {
                #expect(Decimal128.digitCount(coefficient) == String(coefficient).utf8.count, "\(coefficient)")
                for exponent in [0, 1, 6176 - digits, 6176 - digits + 1, 6176, 12286, 12287] {
                    let value = Decimal128(
                        isNegative: coefficient % 2 == 1, exponent: exponent, coefficient: coefficient)
                    values.append(NaiveDecimal(value.low, value.high))
                }
            }
        }
        let sorted = values.sorted()
        for (a, b) in zip(sorted, sorted.dropFirst()) {
            let x = Decimal128(low: a.low, high: a.high), y = Decimal128(low: b.low, high: b.high)
            #expect(a == b ? x == y : x < y, "\(a) and \(b)")
        }
        for a in stride(from: 0, to: sorted.count, by: 17) {
            for b in stride(from: 0, to: sorted.count, by: 11) { check(sorted[a], sorted[b]) }
        }
    }

    @Test func randomPairs() {
        var random = TestRandom(128)
        for _ in 0..<5000 {
            let (a, b) = NaiveDecimal.random(&random), (c, d) = NaiveDecimal.random(&random)
            check(NaiveDecimal(a, b), NaiveDecimal(c, d))
        }
    }

    private func check(_ a: NaiveDecimal, _ b: NaiveDecimal) {
        let x = Decimal128(low: a.low, high: a.high), y = Decimal128(low: b.low, high: b.high)
        #expect((x < y) == (a < b) && (x == y) == (a == b), "\(a) and \(b)")
        // The number of an order key is that number; its text says every bit that counts.
        let plain = Decimal128(orderKey: x.orderKey)
        #expect(plain == x && NaiveDecimal(plain.low, plain.high) == a, "\(a) becomes \(plain.text)")
        let again = try? Decimal128(x.text)
        #expect(again?.text == x.text && again == x, "\(a)")
    }
}
