package middleware

// constraint says that one middleware must stand before another, and why. Before
// hooks and edits run from the first to the last, after hooks from the last to
// the first, and the first around hook is the outermost.
type constraint struct{ first, second, reason string }

func constraints() []constraint {
	return []constraint{
		{NameInputSanitization, NameDynamicContext, "what guards the user's text must not touch what the framework puts before it"},
		{NameToolOutputBudget, NameToolResultSanitization, "the budget counts the text as it will be stored"},
		{NameThreadData, NameUploads, "uploads lie in the thread's directories"},
		{NameUploads, NameSandbox, "the files must be known before a tool works on them"},
		{NameDanglingToolCall, NameLLMErrorHandling, "a call that is tried again must send the repaired request"},
		{NameGuardrail, NameToolErrorHandling, "what a policy refuses is no failure of the tool"},
		{NameSandboxAudit, NameToolErrorHandling, "a command that is blocked is no failure of the tool"},
		{NameReadBeforeWrite, NameToolErrorHandling, "a write that is refused is no failure of the tool"},
		{NameLLMErrorHandling, NameSummarization, "a context-length error is answered by a compaction first"},
		{NameDynamicContext, NameSummarization, "a compaction must know the reminders that it takes out of view"},
		{NameUploads, NameSkillActivation, "a refused skill skips the hooks behind it, and the files of an earlier message must not stay"},
		{NameSkillActivation, NameSkillToolPolicy, "the policy goes by the skill that was just activated"},
		{NameDurableContext, NameSummarization, "what a tool has just read is captured before its text is compacted away"},
		{NameSummarization, NameTodoList, "a plan that a compaction has hidden is shown again in the same request"},
		{NameSummarization, NameSystemMessageCoalescing, "the last edit of the messages joins what all others have added"},
		{NameDeferredToolFilter, NameSystemMessageCoalescing, "the last edit of the messages joins what all others have added"},
		{NameLLMErrorHandling, NameLoopDetection, "a failed call must not be counted"},
		{NameSubagentLimit, NameLoopDetection, "calls above a limit were still asked for, and count"},
		{NameLoopDetection, NameSafetyFinishReason, "a provider's safety stop comes first: cut calls must not be counted"},
		{NameTokenBudget, NameSafetyFinishReason, "a provider's safety stop comes first: its reason is the one to show"},
		{NameTodoList, NameTokenBudget, "a hard stop is final: an open plan must not call the model again"},
		{NameTodoList, NameLoopDetection, "a hard stop is final: an open plan must not call the model again"},
		{NameTerminalResponse, NameModelLength, "a call that was cut is no empty answer"},
		{NameGuardrail, NameSandboxAudit, "a denied tool is not judged by what it would run"},
		{NameSandboxAudit, NameReadBeforeWrite, "a blocked command is refused before anything else is looked at"},
		{NameToolErrorHandling, NameSkillToolPolicy, "a tool that does not exist is told as such, whatever a policy allows"},
		{NameToolErrorHandling, NameDeferredToolFilter, "a call that cannot be run is told why before it is told to search"},
		{NameToolErrorHandling, NameSubagentLimit, "a task that failed gives its turn back before it becomes a result"},
		{NameToolErrorHandling, NameClarification, "a failure while a question is asked must become a result, too"},
	}
}
