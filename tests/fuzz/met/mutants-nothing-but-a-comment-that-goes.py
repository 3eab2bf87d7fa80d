  # transferlint: ignore[TL101] -- why
