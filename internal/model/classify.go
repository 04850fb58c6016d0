package model

import (
	"net/http"
	"strings"
)

// Words by which providers are understood, lower case. They are looked for in
// code, type and text together.
var (
	contextWords = []string{
		"context_length", "context length", "context window", "context_window", "maximum context", "contextwindow",
		"prompt is too long", "prompt too long", "input is too long", "input too long", "too many tokens", "too many input tokens",
		"exceeds the maximum number of tokens", "maximum number of tokens allowed", "exceed max tokens", "exceeds max length",
		"reduce the length of", "range of input length", "input length", "string_above_max_length", "exceeds the model's max",
		"request_too_large", "request too large", "model_max_prompt_tokens",
		"上下文长度", "上下文过长", "上下文窗口", "超出最大长度", "超过最大长度", "超出模型最大", "超过模型最大", "输入过长", "输入长度", "最大输入",
		"长度超限", "长度超过", "长度超出", "token数超", "token 数超", "tokens数超", "prompt过长", "prompt 过长",
	}
	rateWords = []string{
		"rate_limit", "throttling", "per min", "per_min", "permin", "per second", "per_second", "persecond", "每分钟", "每秒",
	}
	brokeWords = []string{"insufficient_quota", "billing_hard_limit", "insufficient_balance", "insufficient balance", "insufficient_credits"}
	quotaWords = []string{
		"quota", "billing", "credit", "payment", "余额", "欠费", "额度", "配额", "充值",
	}
	authWords = []string{
		"authentication", "unauthorized", "unauthenticated", "invalid api key", "invalid_api_key", "incorrect api key",
		"permission", "forbidden", "access denied", "access_denied",
		"无权", "未授权", "没有权限", "权限不足", "认证失败", "鉴权", "身份验证", "密钥无效", "无效的api", "无效的令牌",
	}
	burstWords = []string{"limit_burst_rate", "rate increased too quickly", "burst rate", "burst_rate", "突发", "速率增长过快", "增速过快"}
	busyWords  = []string{
		"server busy", "server is busy", "server_busy", "temporarily unavailable", "try again later", "please retry", "please try again",
		"overloaded", "high demand", "rate limit", "rate_limit", "ratelimit", "too many requests", "service unavailable", "at capacity",
		"服务繁忙", "系统繁忙", "服务器繁忙", "负载过高", "稍后再试", "稍后重试", "请求过于频繁", "频率限制", "限流", "访问量过大", "并发",
	}
	transientWords = []string{
		"server_error", "internal error", "internal server error", "internal_error", "api_error", "timeout", "timed out", "bad gateway",
		"gateway", "upstream", "connection", "disconnected", "service_unavailable", "内部错误", "超时",
	}
	badRequestWords = []string{"invalid_request", "invalid request", "bad_request", "bad request", "invalid_argument", "invalidparameter", "not_found_error"}
)

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// classify names a failure that a provider reported; status is 0 for one
// without. The first match wins. The text of a 5xx answer may quote anything,
// so only its code is searched for quota and keys; a 429 that names a rate is
// no used-up quota, though it may advise to pay.
func classify(status int, p providerError) Class {
	all := p.tags() + " " + strings.ToLower(p.message)
	text := all
	if status >= http.StatusInternalServerError {
		text = p.tags()
	}
	switch {
	case mayBeTooLong(status) && containsAny(text, contextWords), status == http.StatusRequestEntityTooLarge:
		return ClassContextLength
	case status == http.StatusPaymentRequired, containsAny(text, brokeWords):
		return ClassQuota
	case containsAny(all, burstWords):
		return ClassBurstRate
	case status == http.StatusTooManyRequests && containsAny(text, rateWords):
		return ClassTransient
	case containsAny(text, quotaWords):
		return ClassQuota
	case status == http.StatusUnauthorized, status == http.StatusForbidden, containsAny(text, authWords):
		return ClassAuth
	}
	return classifyByStatus(status, all)
}

func classifyByStatus(status int, text string) Class {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return ClassTransient
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return ClassBadRequest
	}
	switch {
	case status >= http.StatusInternalServerError:
		return ClassTransient
	case containsAny(text, busyWords):
		return ClassBusy
	case status == 0 && containsAny(text, transientWords):
		return ClassTransient
	case status == 0 && containsAny(text, badRequestWords):
		return ClassBadRequest
	}
	return ClassGeneric
}

// mayBeTooLong reports whether an answer with this status can mean that the
// request was too long; rate limits speak of tokens too.
func mayBeTooLong(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return false
	}
	return true
}

// errorFrom makes an error of what a provider said.
func errorFrom(status int, p providerError) *Error {
	if status == 0 || status == http.StatusOK {
		status = p.status
	}
	e := newError(classify(status, p), p.message)
	e.Status, e.Code = status, firstOf(p.code, p.kind)
	return e
}

// streamError is an error that came inside an answer with status 200 (A02). The
// request was accepted, so a failure of unknown kind is worth one repetition.
func streamError(raw []byte) *Error {
	e := errorFrom(0, parseProviderError(raw))
	if e.Message == "" {
		e.Message = "the provider broke off with an error that says nothing"
	}
	if e.Class == ClassGeneric {
		e.Retryable, e.MaxAttempts = true, fewAttempts
	}
	return e
}

// unreadableEvent is an event that is no JSON object.
func unreadableEvent(data []byte) *Error {
	p := parseProviderError(data)
	e := errorFrom(0, p)
	e.Message = "the stream has an event that cannot be read: " + readable(firstOf(p.message, string(data)))
	if e.Class == ClassGeneric || e.Class == ClassBadRequest {
		e.Class, e.Retryable, e.MaxAttempts = ClassCutStream, true, fewAttempts
	}
	return e
}
