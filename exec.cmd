@rem Windows has no command exec: the scripts of package.json execute the rest of their line.
@%*
