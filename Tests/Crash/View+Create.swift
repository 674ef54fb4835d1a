import ObjStoreCore

extension View {
    /// An object with these values, in the order of the properties.
    func create(_ classID: UInt32, _ properties: [UInt32], _ values: [Value]) throws(StoreError) -> ObjectID {
        var result: Result<ObjectID, StoreError>!
        properties.withUnsafeBufferPointer { properties in
            values.withUnsafeBufferPointer { values in
                result = Result { () throws(StoreError) in try create(classID, properties, values.baseAddress!) }
            }
        }
        return try result.get()
    }
}
