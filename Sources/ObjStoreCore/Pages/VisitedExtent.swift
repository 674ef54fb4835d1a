/// Receives every extent that a root reaches: for `verify`, for the free-space oracle and for tests.
package struct VisitedExtent: Sendable {
    package var unit: Int
    package var units: Int
    package var born: UInt64
}
