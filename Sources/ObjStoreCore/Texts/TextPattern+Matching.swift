internal import CSystem

extension TextPattern {
    /// Whether a text fits. No pointer is the empty text; null is for the caller.
    @inline(__always)
    package func matches(_ text: UnsafeRawPointer?, _ count: Int) -> Bool {
        let text = UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : count)
        return isBytewise ? contains(bytewise: text) : matches(text)
    }

    private func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        switch form {
        case .plain: return matches(plain: text)
        case .bytes: return matches(ByteUnits(text, foldsCase: foldsCase))
        case .scalars: return matches(ScalarUnits(text, foldsCase: foldsCase))
        case .bases: return matches(BaseUnits(text, foldsCase: foldsCase))
        }
    }

    // MARK: Bytes

    private func matches(plain text: UnsafeRawBufferPointer) -> Bool {
        switch operation {
        case .equal: return text.count == bytes.count && fits(text, at: 0)
        case .less: return order(plain: text) < 0
        case .lessOrEqual: return order(plain: text) <= 0
        case .greater: return order(plain: text) > 0
        case .greaterOrEqual: return order(plain: text) >= 0
        case .beginsWith: return text.count >= bytes.count && fits(text, at: 0)
        case .endsWith: return text.count >= bytes.count && fits(text, at: text.count &- bytes.count)
        // LIKE has units, what is contained bytes.
        case .contains, .like: return false
        }
    }

    @inline(__always)
    private func fits(_ text: UnsafeRawBufferPointer, at index: Int) -> Bool {
        bytes.count == 0
            || memcmp(
                text.baseAddress.unsafelyUnwrapped + index, bytes.baseAddress.unsafelyUnwrapped, bytes.count) == 0
    }

    @inline(__always)
    private func order(plain text: UnsafeRawBufferPointer) -> Int {
        TextPattern.order(text, bytes)
    }

    // MARK: Units

    @inline(__always)
    private func matches<Units: TextUnits>(_ text: consuming Units) -> Bool {
        switch operation {
        case .equal: return order(text) == 0
        case .less: return order(text) < 0
        case .lessOrEqual: return order(text) <= 0
        case .greater: return order(text) > 0
        case .greaterOrEqual: return order(text) >= 0
        case .beginsWith: return begins(text)
        case .endsWith: return ends(text)
        case .contains: return contains(text)
        case .like: return isLike(text)
        }
    }

    private func order<Units: TextUnits>(_ text: Units) -> Int {
        var text = text, index = 0
        while true {
            let unit = text.next(), other = units[index]
            if unit != other { return TextPattern.order(unit, other) }
            if unit == TextUnit.end { return 0 }
            index &+= 1
        }
    }

    private func begins<Units: TextUnits>(_ text: Units) -> Bool {
        var text = text
        for index in 0..<count where text.next() != units[index] { return false }
        return true
    }

    private func ends<Units: TextUnits>(_ text: Units) -> Bool {
        var text = text
        if let isThere = text.goBeforeEnd(count) { return isThere && begins(text) }
        // How many units of the pattern end what was read.
        var fitting = 0
        while true {
            let unit = text.next()
            if unit == TextUnit.end { return fitting == count }
            while fitting > 0, units[fitting] != unit { fitting = Int(borders[fitting]) }
            if units[fitting] == unit { fitting &+= 1 }
        }
    }

    func contains<Units: TextUnits>(_ text: Units) -> Bool {
        if count == 0 { return true }
        var text = text, fitting = 0
        let first = units[0]
        while true {
            if fitting == 0 { text.skip(to: first) }
            let unit = text.next()
            if unit == TextUnit.end { return false }
            while fitting > 0, units[fitting] != unit { fitting = Int(borders[fitting]) }
            if units[fitting] == unit {
                fitting &+= 1
                if fitting == count { return true }
            }
        }
    }

    /// Each part between stars is taken where it fits first: so no earlier star need take more.
    private func isLike<Units: TextUnits>(_ text: Units) -> Bool {
        var text = text, index = 0
        /// The part behind the last star, and where in the text it was tried.
        var part = -1, tried = text
        while true {
            let wanted = units[index]
            if wanted == TextUnit.many {
                index &+= 1
                if index == count { return true }
                part = index
                if units[part] < TextUnit.many { text.skip(to: units[part]) }
                tried = text
                continue
            }
            let unit = text.next()
            if unit == wanted {
                if unit == TextUnit.end { return true }
                index &+= 1
            } else if unit == TextUnit.end {
                return false
            } else if wanted == TextUnit.one {
                text.skipMarks(behind: unit)
                index &+= 1
            } else {
                if part < 0 { return false }
                _ = tried.next()
                if units[part] < TextUnit.many { tried.skip(to: units[part]) }
                text = tried
                index = part
            }
        }
    }
}
