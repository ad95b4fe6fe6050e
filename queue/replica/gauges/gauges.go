// Package gauges shows how the replicated queues of a host stand as Prometheus
// metrics: what replica.Stats has, read when it is asked for.
//
//	pawl_queue_role{queue,role}              1 for what the host is
//	pawl_queue_locked{queue}                 1 while the application may not append here
//	pawl_queue_failed{queue}                 1 when the replica has ended
//	pawl_queue_gap_messages{queue}           a crash of the source could lose them
//	pawl_queue_{last,counted,flushed}_index{queue}
//	pawl_queue_sink_state{queue,sink,state}  1 for the state; at the source
//	pawl_queue_sink_gap_messages{queue,sink} it does not hold them
//	pawl_queue_sink_{sent,received,appended,flushed}_index{queue,sink}
//
// An index is cycle * 2^32 + sequence, exact up to cycle 2,097,151.
package gauges

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-go/pawl/queue"
	"github.com/pawl-go/pawl/queue/replica"
)

// Source is where the numbers come from: a *replica.Host.
type Source interface {
	Stats() []replica.Stats
}

type collector struct{ from Source }

// New makes a collector of the queues of a host, to be registered once. It may be
// collected concurrently, until the host is closed and after.
func New(from Source) prometheus.Collector { return collector{from} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pawl_queue_"+name, help, append([]string{"queue"}, labels...), nil)
}

var (
	role         = desc("role", "1 for what the host is for the queue: source, candidate or sink.", "role")
	locked       = desc("locked", "1 while the application may not append at this host.")
	failed       = desc("failed", "1 when the replica has ended, since its disk cannot be relied on.")
	gap          = desc("gap_messages", "Messages that a crash of the source could lose.")
	last         = desc("last_index", "Index of the last entry here.")
	counted      = desc("counted_index", "Index of the last entry that counts.")
	flushed      = desc("flushed_index", "Index of the last entry on the disk here.")
	sinkState    = desc("sink_state", "1 for the state of the sink: down, idle, matching, copying or live.", "sink", "state")
	sinkGap      = desc("sink_gap_messages", "Messages that the sink does not hold.", "sink")
	sinkSent     = desc("sink_sent_index", "Index of the last entry that was sent to the sink.", "sink")
	sinkReceived = desc("sink_received_index", "Index of the last entry that the sink has received.", "sink")
	sinkAppended = desc("sink_appended_index", "Index of the last entry that the sink has appended.", "sink")
	sinkFlushed  = desc("sink_flushed_index", "Index of the last entry on the disk of the sink.", "sink")
)

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		role, locked, failed, gap, last, counted, flushed,
		sinkState, sinkGap, sinkSent, sinkReceived, sinkAppended, sinkFlushed,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	index := func(d *prometheus.Desc, i queue.Index, labels ...string) { gauge(d, float64(i), labels...) }
	for _, s := range c.from.Stats() {
		q := s.Queue
		gauge(role, 1, q, s.Role)
		gauge(locked, flag(s.Locked != ""), q)
		gauge(failed, flag(s.Failed != ""), q)
		gauge(gap, float64(s.Gap), q)
		index(last, s.Last, q)
		index(counted, s.Counted, q)
		index(flushed, s.Flushed, q)
		for _, sink := range s.Sinks {
			id := strconv.Itoa(int(sink.Host))
			gauge(sinkState, 1, q, id, sink.State)
			gauge(sinkGap, float64(sink.Gap), q, id)
			index(sinkSent, sink.Sent, q, id)
			index(sinkReceived, sink.Received, q, id)
			index(sinkAppended, sink.Appended, q, id)
			index(sinkFlushed, sink.Flushed, q, id)
		}
	}
}

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}
