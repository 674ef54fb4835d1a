extension QueryPlan {
    /// For programs; `objstore_query_explain` describes it.
    package func json() throws(StoreError) -> String {
        let writer = JSONWriter(.pretty)
        func entry(_ key: String, _ number: Int) throws(StoreError) {
            try writer.key(key)
            try writer.append(.int(Int64(number)))
        }
        func entry(_ key: String, _ text: String?) throws(StoreError) {
            guard let text else { return }
            try writer.key(key)
            try writer.append(name: text)
        }
        try writer.begin(.map)
        try entry("query", query)
        try entry("class", className)
        try entry("objects", objects)
        try entry("leaves", leaves)
        try entry("access", access.rawValue)
        try entry("by", by)
        if let estimate { try entry("estimate", estimate) }
        try entry("filter", filter)
        try writer.key("steps")
        try writer.begin(.list)
        for step in steps { try writer.append(name: step) }
        try writer.end()
        if let outcome {
            try writer.key("found")
            try writer.begin(.map)
            try entry("objects", outcome.objects)
            if let rows = outcome.rows { try entry("rows", rows) }
            try entry("microseconds", Int(outcome.microseconds))
            if access == .scan, outcome.rows == nil {
                try entry("leavesRead", outcome.leavesRead)
                try entry("leavesSkipped", outcome.leavesSkipped)
            }
            if outcome.threads > 0 { try entry("threads", outcome.threads) }
            try writer.end()
        }
        try writer.end()
        return String(decoding: writer.text, as: UTF8.self) + "\n"
    }
}
