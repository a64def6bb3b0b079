package wiring

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/mosey-web/mosey/internal/botauth"
)

// SignFlags say how requests are signed, so that sites can tell who makes them.
type SignFlags struct {
	Sign           string       `help:"Sign requests (Web Bot Auth) with the Ed25519 key of this file, or the newest of a folder: mosey identity keygen makes one. Default: off." expert:"" placeholder:"FILE|DIR"`
	SignatureAgent string       `help:"Where the public keys are, for --sign: the https URL of a host that serves what mosey identity directory prints." expert:"" placeholder:"URL"`
	SignForm       botauth.Form `help:"Draft that --sign follows: architecture-02 (verifiers of today) or httpsig-protocol-01 (the IETF's working group). Default: architecture-02." enum:"architecture-02,httpsig-protocol-01" default:"architecture-02" expert:"" placeholder:"FORM"`
}

// signer makes what signs requests; nil is none. No error has a key in it.
func (f SignFlags) signer(logger *slog.Logger) (*botauth.Signer, error) {
	if f.Sign == "" && f.SignatureAgent == "" {
		return nil, nil //nolint:nilnil // that is how not to sign
	}
	if f.Sign == "" {
		return nil, errors.New("--signature-agent: there is no --sign, so that nothing is signed")
	}
	if _, err := f.SignAs(); err != nil {
		return nil, err
	}
	signer, err := botauth.New(botauth.Config{Path: f.Sign, Agent: f.SignatureAgent, Form: f.SignForm, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("--sign: %w", err)
	}
	if logger != nil {
		logger.Info("requests are signed", "keyid", signer.Current(), "agent", signer.Agent(), "form", f.SignForm)
	}
	return signer, nil
}

// SignAs is what the header Signature-Agent says.
func (f SignFlags) SignAs() (string, error) {
	if f.SignatureAgent == "" {
		return "", errors.New("--signature-agent: not given; want the https URL of a host that serves the public keys, " +
			"as a signature tells nothing to those who do not find its key")
	}
	agent, err := f.SignForm.Agent(f.SignatureAgent)
	if err != nil {
		return "", fmt.Errorf("--signature-agent: %w", err) // what is given may have a password
	}
	return agent, nil
}

// SignedBy is the keyid of the key that signs requests now, and the URL at which its public part is to be;
// empty where requests are not signed.
func (f SignFlags) SignedBy() (keyID, directory string, err error) {
	signer, err := f.signer(nil)
	if signer == nil || err != nil {
		return "", "", err
	}
	return signer.Current(), botauth.DirectoryURL(signer.Agent()), nil
}
