/** The caller's settings for Parley must not reach the servers that are measured. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const own = /^(PARLEY_|OPENAI_|ANTHROPIC_|npm_|NODE_OPTIONS$|PORT$|HOST$|DATABASE_URL$|REDIS_URL$|TAP)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
