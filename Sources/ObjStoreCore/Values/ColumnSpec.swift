/// What a tree must know of one property: its stable column id, type, and what an absent column means.
///
/// The id is never reused within a class. A leaf that has no entry for the id was written before the
/// property was added: every row then has `fill`, which never changes. An entry whose id the class no
/// longer has is dropped when the leaf is next rewritten.
package struct ColumnSpec: Sendable {
    package var id: UInt32
    package var kind: ValueKind
    package var nullable: Bool
    /// The value of rows in leaves that are older than the column; null or a value without bytes (numbers), or
    /// bytes that live as long as the schema they belong to.
    package var fill: Value
    /// Of a link: the id (of the interfaces) of the class that it leads to; else 0. What `Value.high` of a link says.
    package var target: UInt32

    package init(id: UInt32, kind: ValueKind, nullable: Bool, fill: Value = .null, target: UInt32 = 0) {
        self.id = id; self.kind = kind; self.nullable = nullable; self.fill = fill; self.target = target
    }
}
