// Package model speaks chat completions with OpenAI-compatible providers: it
// builds requests that every provider accepts whatever the history looks like,
// reads answers whatever their stream looks like, and says of every failure
// what it is and whether another attempt can help.
//
// [Client] is such a provider, the demo of [NewDemo] a script that needs none;
// both are a [Chatter]. [Repair] makes a history valid, [Chatter.Chat] does so
// by itself.
//
// One call is one attempt: nothing in here retries an outage, since retries
// belong to the activity that calls. The one exception is a request that a
// provider refuses because of an optional field it does not know: it is sent
// again without the field, and the client remembers.
//
// What stays out: which messages are in view (the caller's), when to call again
// (the activity's policy), where configuration comes from (package config).
package model
