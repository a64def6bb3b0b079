# Completion of mosey for bash: source <(mosey completion bash)
_mosey() {
	local IFS=$'\n'
	COMPREPLY=($(mosey __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
	[ "${#COMPREPLY[@]}" != 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _mosey mosey
