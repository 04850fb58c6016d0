// Package testkit holds what the tests of this module need and no test should
// have to write again:
//
//   - [Model], a scriptable server that speaks the OpenAI chat completions
//     protocol, records every request and, in its strict mode, refuses those
//     that a real provider would refuse ([Validate]);
//   - [StartDev] and [RunCLI], which build the real binary once and run it as
//     a process that can be stopped, killed and started again on its data;
//   - [API] and [SSE], a small client of the LangGraph dialect over plain HTTP.
//
// A test that stops a run in mid-answer reads like this:
//
//	gate := testkit.NewGate()
//	model := testkit.NewModel(t)
//	model.Enqueue(testkit.Text("one two", testkit.WithChunks(2), testkit.At(1, testkit.Hold(gate))))
//	api := testkit.StartDev(t, testkit.DevOptions{Config: configFor(model.URL())}).API()
//	stream, err := api.StreamRun(ctx, thread, testkit.Say("Count."))
//	require.NoError(t, err)
//	<-gate.Reached()
//	require.NoError(t, api.CancelRun(ctx, thread, stream.RunID(), testkit.CancelOptions{}))
//	<-model.Requests()[0].Closed()
//
// Waiting is done on what the kit has seen (a [Gate], [Model.Await],
// [Request.Closed], [SSE.Until]), never on a clock.
//
// Only tests may import this package, and it imports no other package of this
// module: it looks at the product from outside, so that it cannot share its
// mistakes.
package testkit
