package urls

import "bytes"

// maxParamName is the number of compared bytes of a name. It exceeds the longest name below, so
// that a cut name equals none of them.
const maxParamName = 20

// isSessionParam reports whether a parameter carries a session id, by its name without regard to
// case. Apache Nutch (regex-normalize.xml) and Heritrix (StripSessionIDs, StripSessionCFIDs) remove
// these names; a few more are of common programs. Otherwise each visit would make a new URL of a
// page. A name with other uses, such as sid for stories and session_id for the talks of a
// conference, counts only with a value that looks like a session's.
func isSessionParam(name, value []byte) bool {
	var space [maxParamName]byte
	switch name = lowerParam(space[:0], name); string(name) {
	case "jsessionid", "phpsessid", "phpsid",
		"cfid", "cftoken", // ColdFusion
		"oscsid", // osCommerce
		"zenid":  // Zen Cart
		return true
	case "sid", "sessid", "sessionid", "session_id":
		return IsSessionID(string(value))
	}
	// Classic ASP adds eight random letters to the name.
	return bytes.HasPrefix(name, []byte("aspsessionid"))
}

// isTrackingParam reports whether a query parameter, by its name without regard to case, identifies
// a visitor or their origin, without effect on the page. These are the click and mail ids on the
// query-stripping lists of Firefox and Brave, and the campaign parameters that makers of web
// analytics document.
func isTrackingParam(name []byte) bool {
	var space [maxParamName]byte
	switch name = lowerParam(space[:0], name); string(name) {
	case "_ga", "_gl", "dclid", "gad_campaignid", "gad_source": // Google
	case "gbraid", "gclid", "gclsrc", "srsltid", "wbraid": // Google
	case "fbclid", "igsh", "igshid": // Meta
	case "msclkid": // Microsoft
	case "_openstat", "yclid", "ysclid": // Yandex
	case "li_fat_id", "rdt_cid", "ttclid", "twclid": // LinkedIn, Reddit, TikTok, X
	case "mc_cid", "mc_eid": // Mailchimp
	case "__hsfp", "__hssc", "__hstc", "_hsenc", "_hsmi", "hsctatracking": // HubSpot
	case "mkt_tok": // Marketo
	case "oly_anon_id", "oly_enc_id": // Omeda
	case "vero_conv", "vero_id": // Vero
	case "__s", "_kx", "irclickid": // Drip, Klaviyo, impact.com
	case "ml_subscriber", "wickedid": // MailerLite, Wicked Reports
	case "s_kwcid": // Adobe
	case "_branch_match_id", "dicbo": // Branch, Outbrain
	case "guccounter", "guce_referrer", "guce_referrer_sig": // Yahoo
	case "pk_campaign", "pk_cid", "pk_content": // Matomo, when it was Piwik
	case "pk_keyword", "pk_kwd", "pk_medium", "pk_source": // Matomo, likewise
	default:
		// families: Google Analytics and its imitators, Matomo, HubSpot Ads
		family := string(name[:min(len(name), 4)])
		return len(name) > 4 && (family == "utm_" || family == "mtm_" || family == "hsa_")
	}
	return true
}

// lowerParam appends the first maxParamName bytes of name to b, in lower case.
func lowerParam(b, name []byte) []byte {
	for _, c := range name[:min(len(name), maxParamName)] {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b
}
