package v1

// described is a row of the table of routes, with what /v1/openapi.json says of it.
type described struct {
	method, path string
	serve        serve
	summary      string
	query        string // the names of the query's parameters (or anyQuery), and headers as "Name:"
	in, out      any    // zero values of the bodies; nil: none, anyJSON: the application's
	status       int    // of success, if it is not 200
}

// anyJSON stands for a body that is the application's. As an answer it is 204 if it
// is empty.
type anyJSON struct{}

// result stands for the anyJSON that a method returns; 202 before it does.
type result struct{}

// acted stands for an Invocation after an operator's act: 202 if it has not ended,
// 204 if nothing is kept of it.
type acted struct{}

// plainText stands for a body that is text.
type plainText struct{}

// table is the one table of routes.
func (h *Handler) table() []described {
	const actor = "/v1/actors/{type}/{id}"
	const inv = "/v1/invocations/{inv}"
	const filter = "type id method status root key since limit cursor"
	return []described{
		{"POST", actor + "/call/{method}", h.call, "Call a method and wait for its result", "Idempotency-Key: Prefer:", anyJSON{}, result{}, 0},
		{"POST", actor + "/tell/{method}", h.tell, "Run a method; durable when answered", "delay at Idempotency-Key:", anyJSON{}, Accepted{}, 202},
		{"POST", "/v1/invocations", h.invoke, "Call or tell, with the target in the body", "Idempotency-Key: Prefer:", Request{}, result{}, 0},
		{"GET", "/v1/invocations", h.listInvocations, "List invocations, newest first", filter, nil, Page[Invocation]{}, 0},
		{"POST", "/v1/invocations:cancel", h.many("cancel"), "Cancel many, by ids or by a filter, or say which", "", Many{}, Acted{}, 0},
		{"POST", "/v1/invocations:resume", h.many("resume"), "Run many parked or failed invocations again", "", Many{}, Acted{}, 0},
		{"POST", "/v1/invocations:skip", h.many("skip"), "Drop many parked steps and release their actors", "", Many{}, Acted{}, 0},
		{"POST", "/v1/invocations:answer", h.many("answer"), "End many invocations with an outcome of one's own", "", Many{}, Acted{}, 0},
		{"GET", inv, h.getInvocation, "One invocation", "", nil, Invocation{}, 0},
		{"GET", inv + "/tree", h.tree, "Who waits for whom, from the outermost caller", "", nil, Tree{}, 0},
		{"GET", inv + "/outcome", h.outcome, "The outcome; a long poll", "wait", nil, result{}, 0},
		{"POST", inv + "/cancel", h.cancel, "End an invocation with the error canceled", "", Cancel{}, acted{}, 0},
		{"POST", inv + "/answer", h.answer, "End an invocation with an outcome of one's own", "", Answer{}, acted{}, 0},
		{"POST", inv + "/resume", h.resume, "Run a parked or failed invocation again", "", nil, acted{}, 0},
		{"POST", inv + "/skip", h.skip, "Drop a parked step and release its actor", "", nil, acted{}, 0},
		{"GET", "/v1/actors", h.listActors, "List the actors of a type", "type limit cursor", nil, Page[Actor]{}, 0},
		{"GET", actor, h.getActor, "One actor that has state or requests, or is paused", "", nil, Actor{}, 0},
		{"POST", "/v1/actors:purge", h.purgeMany, "Purge many, by ids or by how long they were idle, or say which", "", PurgeMany{}, Acted{}, 0},
		{"DELETE", actor, h.purge, "Purge: cancel what waits, drop state, reminders and subscriptions", "", nil, nil, 204},
		{"POST", actor + "/pause", h.pause, "Begin nothing on the actor", "", nil, nil, 204},
		{"POST", actor + "/unpause", h.unpause, "Let a paused actor go on", "", nil, nil, 204},
		{"POST", actor + "/deactivate", h.deactivate, "Drop the instance in memory", "", nil, nil, 204},
		{"GET", actor + "/state", h.state, "The recorded state", "", nil, Page[Cell]{}, 0},
		{"PATCH", actor + "/state", h.patchState, "Change flat cells, all at once; null removes", "", map[string]anyJSON{}, nil, 204},
		{"GET", actor + "/state/{key}", h.cell, "A cell, or the entries of a map", "from limit", nil, anyJSON{}, 0},
		{"PUT", actor + "/state/{key}", h.putCell, "Set a cell", "If-Match: If-None-Match:", anyJSON{}, nil, 204},
		{"PATCH", actor + "/state/{key}", h.patchState, "Change entries of a map, all at once; null removes", "", map[string]anyJSON{}, nil, 204},
		{"DELETE", actor + "/state/{key}", h.dropCell, "Remove a cell, or all of a map", "If-Match:", nil, nil, 204},
		{"GET", actor + "/state/{key}/{entry}", h.entry, "An entry of a map", "", nil, anyJSON{}, 0},
		{"PUT", actor + "/state/{key}/{entry}", h.putCell, "Set an entry of a map", "If-Match: If-None-Match:", anyJSON{}, nil, 204},
		{"DELETE", actor + "/state/{key}/{entry}", h.dropCell, "Remove an entry of a map", "If-Match:", nil, nil, 204},
		{"GET", actor + "/reminders", h.reminders, "List reminders", "", nil, Page[Reminder]{}, 0},
		{"GET", actor + "/reminders/{name}", h.reminder, "One reminder", "", nil, Reminder{}, 0},
		{"PUT", actor + "/reminders/{name}", h.remind, "Set a reminder", "", SetReminder{}, nil, 204},
		{"DELETE", actor + "/reminders/{name}", h.unremind, "Remove a reminder", "", nil, nil, 204},
		{"GET", actor + "/subscriptions", h.subscriptions, "List subscriptions", "", nil, Page[Subscription]{}, 0},
		{"PUT", actor + "/subscriptions/{name}", h.subscribe, "Subscribe to a topic", "", Subscription{}, nil, 204},
		{"DELETE", actor + "/subscriptions/{name}", h.unsubscribe, "Give up a subscription", "", nil, nil, 204},
		{"GET", "/v1/topics/{topic}", h.topic, "Who has subscribed to a topic", "", nil, Page[Subscription]{}, 0},
		{"POST", "/v1/topics/{topic}/publish", h.publish, "Publish an event; durable when answered", "delay at Idempotency-Key:", anyJSON{}, Accepted{}, 202},
		{"GET", "/v1/components", h.components, "The members, and the engine's counts", "", nil, Components{}, 0},
		{"POST", "/v1/components/{name}/drain", h.drain, "Finish what runs, begin nothing, give the rest back, and end", "", Drain{}, nil, 202},
		{"GET", "/v1/types", h.types, "Actor types that are hosted, stored or waited for", "all", nil, Page[Type]{}, 0},
		{"GET", "/v1/events", h.events, "What the application does, as Server-Sent Events; resumable", "type id method invocation event after follow all Last-Event-ID:", nil, eventStream{}, 0},
		{"GET", "/v1/health/live", h.live, "The process answers", anyQuery, nil, map[string]string{}, 0},
		{"GET", "/v1/health/ready", h.ready, "It is a member and its engine records", anyQuery, nil, map[string]string{}, 0},
		{"GET", "/v1/openapi.json", h.openAPI, "This description", "", nil, object{}, 0},
		{"GET", "/metrics", h.metrics, "Counts, for Prometheus", anyQuery, nil, plainText{}, 0},
	}
}
