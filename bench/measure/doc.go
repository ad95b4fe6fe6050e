// Package measure is what the benchmarks share: a load of clients with its
// latencies ([Load]), the time of the processor and the allocations that it
// took, a bare mapped log to hold figures against ([Log], [Flushes], [Probe]),
// and the [Report] that every job prints.
//
// A figure alone says little: machines, disks and their neighbours differ, and
// change by the minute. So each report carries what a bare log reached in the
// same directory in the same run, and the ratios to it are what is compared.
package measure
