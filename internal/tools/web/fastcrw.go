package web

import "strings"

const (
	fastcrwEnv     = "CRW_API_KEY"
	fastcrwURLEnv  = "CRW_API_URL"
	fastcrwAddress = "https://fastcrw.com/api"
	fastcrwService = "the fastCRW API"
)

// newFastCRW is fastCRW, which speaks the language of Firecrawl and can be run by
// anyone: the key is optional, the address may come from a variable, and a page is
// checked before the service is sent there. Further options:
// allow_private_addresses, allowed_hosts.
func newFastCRW(o Options) firecrawl {
	f := firecrawl{Options: o, service: fastcrwService, address: fastcrwAddress, env: fastcrwEnv, keyless: true, guarded: true}
	if o.Getenv != nil {
		if address := strings.TrimSpace(o.Getenv(fastcrwURLEnv)); address != "" {
			f.address = address
		}
	}
	return f
}

func newFastCRWSearch(o Options) Searcher { return newFastCRW(o) }
func newFastCRWFetch(o Options) Fetcher   { return newFastCRW(o) }
