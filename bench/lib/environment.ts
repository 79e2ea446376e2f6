/** Returns an environment without the caller's settings for Parley, for measured servers. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const own = /^(PARLEY_|OPENAI_|ANTHROPIC_|npm_|NODE_OPTIONS$|PORT$|HOST$|DATABASE_URL$|REDIS_URL$|TAP)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
