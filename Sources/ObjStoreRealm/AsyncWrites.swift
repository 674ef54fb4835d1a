public import ObjStore

/// Writes that no thread waits for, under Realm's names. See those of ``ObjStore/Store``.
extension Realm {
    public typealias AsyncTransactionId = AsyncWriteId

    /// Opens a realm for an actor, without blocking it: see ``ObjStore/Store/init(configuration:actor:)``.
    public init(
        configuration: Configuration = .defaultConfiguration, actor: isolated any Actor
    ) async throws { try await self.init(OpenStores.store(configuration, actor), configuration) }

    /// `deliver()` and `wait()` of ``store`` call `block` and `onComplete`, on whatever thread does that; so they are
    /// `sending`. What cannot be begun is reported.
    @discardableResult
    public func writeAsync(
        _ block: sending @escaping () throws -> Void, onComplete: sending (((any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        do { return try store.writeAsync({ _ in try block() }, onComplete: onComplete) } catch { return failed(error) }
    }

    @discardableResult
    public func beginAsyncWrite(_ block: sending @escaping () throws -> Void) -> AsyncTransactionId {
        do { return try store.beginAsyncWrite { _ in try block() } } catch { return failed(error) }
    }

    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use asyncWrite { … }"
    )
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, _ onComplete: sending (((any Swift.Error)?) -> Void)? = nil
    ) -> AsyncTransactionId {
        do { return try store.commitAsyncWrite(allowGrouping: allowGrouping, onComplete: onComplete) } catch {
            return failed(error)
        }
    }

    public func cancelAsyncWrite(_ id: AsyncTransactionId) { store.cancelAsyncWrite(id) }

    public var isPerformingAsynchronousWriteOperations: Bool { store.isPerformingAsynchronousWriteOperations }

    /// From a task, on its actor: see `asyncWrite` of ``ObjStore/Store``.
    @discardableResult
    public func asyncWrite<Result>(
        isolation: isolated (any Actor)? = #isolation, _ block: () throws -> Result
    ) async throws -> Result { try await store.asyncWrite { _ in try block() } }
    public func asyncWrite(
        isolation: isolated (any Actor)? = #isolation, _ block: () throws -> Void
    ) async throws { try await store.asyncWrite { _ in try block() } }
    public func asyncWrite<Result: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation, _ block: () throws -> Result
    ) async throws { try await store.asyncWrite { _ in _ = try block() } }

    /// See ``ObjStore/Store/asyncRefresh(isolation:)``, whose errors are reported here.
    @discardableResult
    public func asyncRefresh(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        do { return try await store.asyncRefresh() } catch {
            store.report(error)
            return false
        }
    }

    private func failed(_ error: any Swift.Error) -> AsyncWriteId {
        store.report(error)
        return AsyncWriteId()
    }
}
