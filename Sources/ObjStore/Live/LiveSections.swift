/// Results in sections on a screen, which follow by themselves: what ``LiveList`` is for a list.
///
/// ```swift
/// let dogs = try LiveSections(store.objects(Dog.self).sorted(by: \.name).sectioned(byFirstLetterOf: \.name))
/// for section in dogs.sections { print(section.key, section.map(\.name)) }    // sections and rows are identifiable
/// dogs.onUpdate = { sections in
///     table.apply(
///         sections.deletions, sections.sectionsToDelete, sections.sectionsToInsert, sections.insertions,
///         sections.modifications)
/// }
/// ```
public final class LiveSections<Key: CollectionElement, SectionElement: Object>:
    LiveSnapshots<SectionsSnapshot<Key, SectionElement>>
{
    /// - Parameters:
    ///   - keyPaths: which modifications count, as of `observe`. What says the keys counts in any case.
    ///   - interval: at least so long between two updates.
    /// Errors: as of `observe`.
    public init(
        _ sections: SectionedResults<Key, SectionElement>, keyPaths: [String]? = nil, interval: Duration = .zero
    ) throws {
        super.init(try sections.snapshots(keyPaths: keyPaths, interval: interval), SectionsSnapshot())
    }

    /// What is shown now, and what the last update has changed.
    public var sections: SectionsSnapshot<Key, SectionElement> { snapshot }
}
