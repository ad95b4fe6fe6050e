// Package config reads the configuration of replicated queues: which hosts there
// are, which sets they form, and which queue is copied to which sets. It is YAML,
// in one of two forms: queues only,
//
//	!ChronicleQueueReplicationCfg {
//	  context: { baseSourcePath: "replica/source", baseSinkPath: "replica/sink" },
//	  hosts: {
//	    host1: { hostId: 1, connectUri: one.example:7001 },
//	    host2: { hostId: 2, connectUri: two.example:7002 }
//	  },
//	  replicaSets: { group1: [ host1, host2 ] },
//	  queues: {
//	    queue1: { path: queue1, replicaSets: [ group1 ], masterId: 1, acknowledge: true }
//	  }
//	}
//
// or, as !ChronicleServicesCfg, with services that stand on them. The tags may be
// left out; a tag on any other mapping is taken and means nothing.
//
// Reading is strict. An unknown key, a key that is there twice, a name that
// nothing has, a value of the wrong kind: each is a [Mistake] with its line, and
// all of them are reported at once.
//
// # Keys
//
//	context
//	  baseSourcePath       directory of the queues at their masters
//	  baseSinkPath         directory of the queues at all other hosts
//	  heartbeatIntervalMs  2000 unless set
//	  heartbeatTimeoutMs   3000 unless set; must be longer than the interval
//	  leaseTimeoutMs       1000 unless set: a source that has not heard enough hosts for
//	                       an entry to count for so long begins nothing new
//	  secretFile           file with the secret that the hosts share
//	  tls                  certFile, keyFile, caFile: TLS between the hosts
//	hosts.NAME
//	  hostId               1 to 127; of two hosts the higher one dials
//	  connectUri           host:port, with tcp:// before it or not
//	replicaSets.NAME       a list of hosts
//	queues.NAME
//	  path                 below the base directory; the name unless set
//	  sourceId             for the history of messages; above 0, once
//	  replicaSets          sets that the queue is copied to; none: it is not copied
//	  masterId, master     the host that is the source at first, by id or by name
//	  acknowledge          sinks confirm what they hold
//	  allowLoss            starts and take-overs may go on without enough promises
//	  strategy             any, majority, all, unbounded or maxGap; needs acknowledge
//	  maxGap               messages, bytes, ageMs: the limits of strategy maxGap
//	  counting             hosts that must hold an entry before it counts, for
//	                       unbounded and maxGap; 2 unless set
//	  whenOver             wait, fail or flush: what appends do at the limit
//	  patienceMs           how long they wait before they fail or flush
//	  automaticTakeOver    hosts elect one that takes over when the source is gone;
//	                       three hosts or more, and acknowledge
//	  retain               ageMs, bytes, entries: what each host keeps, itself; all unless set
//	  holdForSinks         retention also keeps what a sink has not got, connected or not
//	  countFlushed         an entry is held only once it is on the disk
//	services.NAME          left to the reader of services
//
// All but the last eleven of queues, secretFile and tls are those of Chronicle
// Queue Enterprise, by name and structure. In paths $hostId stands for the id of
// the host.
package config
