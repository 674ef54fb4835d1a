// What other modules of the package report with, that offer the same operations without `throws`.

extension Store {
    /// As a property would.
    package func report(_ error: any Error) { space.handle.reports.report(ObjStoreError.of(error)) }
    package static func reportOfNoStore(_ error: any Error) { ErrorReports.reportOfNoStore(ObjStoreError.of(error)) }
}

extension Results {
    package func report(_ error: any Error) { space.handle.reports.report(ObjStoreError.of(error)) }
}

extension Object {
    package final func report(_ error: any Error) {
        if let space = _space {
            space.handle.reports.report(ObjStoreError.of(error))
        } else {
            Store.reportOfNoStore(error)
        }
    }
}

extension _CollectionProperty {
    package func report(_ error: any Error) { Store.reportOfNoStore(error) }
}

extension StoreReading {
    /// An object that is nowhere.
    package func invalid<T: Object>(_ type: T.Type) -> T { _scope.space.invalid() }
}

extension ObjStoreError {
    static func of(_ error: any Error) -> ObjStoreError {
        error as? ObjStoreError ?? ObjStoreError(.callback, "\(error)")
    }
}
