// Package sidecar pairs an application process, in whatever language, with a
// runtime: pawl run.
//
//	application  -- /kar/v1, /v1 -->  runtime port     (package kar, internal/v1)
//	application  <- /kar/impl/v1 ---  app port         (package host)
//	application  <---- starts -----   this process     (package pair)
//
// The two live and die together. The runtime is one component of the
// application, with the actor types and the service that [Config] names.
package sidecar
