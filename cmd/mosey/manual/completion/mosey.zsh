#compdef mosey
# Completion of mosey for zsh: source <(mosey completion zsh)
_mosey() {
	local -a found
	found=("${(@f)$(mosey __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "$found" ]]; then
		compadd -a found
	else
		_files
	fi
}
compdef _mosey mosey
