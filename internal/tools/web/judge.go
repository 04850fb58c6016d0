package web

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// shortPage is how long a page may be, in characters, to be taken for a wall: an
// article about captchas is longer.
const shortPage = 1500

var (
	// challengeTitle and challengeText are those of pages that ask who is there.
	challengeTitle = regexp.MustCompile(`(?i)^just a moment\b|attention required!|^(robot|security|bot) (check|verification)|\bh?captcha\b|are you (a )?(robot|human)\b|` +
		`pardon our interruption|ddos.?guard|安全验证|人机验证`)
	challengeText = regexp.MustCompile(`(?i)checking (if the site connection is secure|your browser before)|verify(ing)? (that )?you are (a )?human|` +
		`are you (a )?(robot|human)\?|confirm (that )?you are not a robot|\bi'?m not a robot\b|unusual traffic from your|enable javascript and cookies to continue|` +
		`complete the (security check|captcha)|(solve|enter) (the|this) captcha|ddos protection by|请完成(安全)?验证|人机验证`)
	// login are titles and texts of pages that want an account.
	login = regexp.MustCompile(`(?i)^(log ?in|sign ?in|log on|anmelden|connexion|登录|登入)\b|\b(log|sign) ?in to (continue|view|your account|see|read)|you must (be logged|log|sign) ?in|please (log|sign) ?in|请先登录`)
	// loginPath is where pages lead who is not known.
	loginPath = regexp.MustCompile(`(?i)(^|[/_.-])(log-?in|sign-?in|auth|authenticate|sso|oauth2?|accounts?|passport)([/_.-]|$)`)
	noScript  = regexp.MustCompile(`(?i)(enable|requires?|needs?|turn on|without|activate) javascript|javascript (is|must be) (disabled|required|enabled)`)
)

// Judge says that a page is no content although it came: a captcha, a login, a
// notice that scripts must run, or nothing at all. It returns nil for a page that
// can be read.
func Judge(p Page) *Error {
	text := strings.TrimSpace(p.Text)
	length := utf8.RuneCountInString(text)
	short, tiny := length < shortPage, length < shortPage/3
	switch {
	case short && challenged(p.Title, text):
		return failed(KindNoContent, "access denied: the site answered with a check for robots (a captcha) instead of the page")
	case p.Login && tiny || short && (login.MatchString(p.Title) || login.MatchString(text) || ledToLogin(p)):
		return failed(KindNoContent, "access denied: the site wants a login before it shows the page")
	case text == "":
		return NoContent()
	case tiny && noScript.MatchString(text):
		return failed(KindNoContent, "No content found: the page shows its content only to browsers that run scripts")
	}
	return nil
}

// challenged reports whether a page asks who is there.
func challenged(title, text string) bool {
	return challengeTitle.MatchString(title) || challengeText.MatchString(text)
}

// ledToLogin reports whether redirects led from a page to one whose address
// speaks of logging in.
func ledToLogin(p Page) bool {
	if p.FinalURL == "" || p.FinalURL == p.URL {
		return false
	}
	from, err := url.Parse(p.URL)
	if err != nil {
		return false
	}
	to, err := url.Parse(p.FinalURL)
	return err == nil && loginPath.MatchString(to.Path) && !loginPath.MatchString(from.Path)
}
