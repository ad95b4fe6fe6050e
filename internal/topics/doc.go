// Package topics is publish and subscribe, built of actors: an event goes to
// every actor that has subscribed to its topic, exactly once to each, in one
// order for all. It needs nothing of an engine but the contract, and works over
// every one.
//
//	publish ──tell──▶ pawl.topic/{topic} ──tells──▶ subscriber.method(event)
//	                          ▲
//	                        calls
//	                          │
//	subscribe ─────▶ pawl.subscriber/{type}/{id}
//
// Two actor types of our own do it, hosted by every component that hosts
// anything ([Types]). A topic keeps who has subscribed to it; its method publish
// tells each of them, and the tells are recorded with its outcome, so that a
// retry sends none twice and loses none. What is too much for one outcome goes
// on in a tail call to itself, which keeps the lock: later events stay behind.
//
// A subscriber keeps what one actor has subscribed to, by the names of the
// subscriptions, so that they can be listed and given up by name. It passes each
// change on to the topic, in its own order: it is what counts when changes
// come at once.
//
// In a method, subscribing and publishing are tells, and leave with the outcome;
// a subscription is told to the topic directly as well, so that what is published
// after the outcome reaches it. An event that a subscriber's method refuses is
// kept as failed, as any tell.
package topics
