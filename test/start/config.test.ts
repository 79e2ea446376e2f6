import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import t from 'tap';
import { type Config, readConfig, readWarnings } from '../../src/app/config.ts';
import { ConfigError, type Environment } from '../../src/platform/settings/reader.ts';

const ROOT = resolve(import.meta.dirname, '../..');

t.test('an empty environment is a newcomer on their own machine', async (t) => {
  t.match(readConfig({}), {
    port: 8080,
    host: '127.0.0.1',
    publicUrl: null,
    homeCell: null,
    cells: [],
    databaseUrl: null,
    databaseDirectUrl: null,
    adminDatabaseUrl: null,
    embeddedPostgres: null,
    productionSigns: [],
    acceptsUnsafePostgres: false,
    redisUrl: null,
    processes: 1,
    dataDir: resolve('.data'),
    demo: true,
    demoDay: true,
    tokenSecret: null,
    auditKey: null,
    auditOldKeys: [],
    allowedOrigins: [],
    rateLimit: { requests: 600, seconds: 60 },
    registration: 'closed',
    mailDomains: [],
    adminPort: 'default',
    adminHost: '127.0.0.1',
    docsUrl: null,
    requestLogUrl: null,
    restoreDays: 30,
    webhookDays: 30,
    mailDays: 30,
    logLevel: 'info',
    retentionSweepMs: 600_000,
    storedBytesPerAccount: 100 * 1024 ** 3,
    importMaxBytes: 5 * 1024 ** 3,
    drainDelayMs: 0,
    drainMs: 10_000,
    tls: null,
    models: { openaiApiKey: null, anthropicApiKey: null, chains: null },
    fetchAllow: [],
    vapidSubject: 'mailto:postmaster@localhost',
    encryptionKeys: null,
    fcmUrl: null,
    apnsUrl: null,
    smtpUrl: null,
    mailFrom: { name: 'Parley', address: 'no-reply@localhost' },
    dkim: null,
    mailSecrets: null,
    mailAuthserv: null,
    smtpListen: null,
    imap: null,
    s3: null,
    socket: { ...SOCKET_LIMITS },
    startedByNpm: false,
  } satisfies Config);
});

const ACCEPTED: readonly (readonly [Environment, Partial<Config>])[] = [
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '' }, { port: 8080 }],
  [{ HOST: '::1' }, { host: '::1' }],
  [{ PARLEY_DEMO: 'off' }, { demo: false, host: '0.0.0.0', drainDelayMs: 5_000 }],
  [{ NODE_ENV: 'production' }, { productionSigns: ['NODE_ENV=production'], embeddedPostgres: null }],
  [{ NODE_ENV: 'development', HOST: 'localhost' }, { productionSigns: [] }],
  [{ REDIS_URL: 'redis://redis' }, { productionSigns: ['REDIS_URL'] }],
  [{ HOST: '::' }, { productionSigns: ['HOST=::'] }],
  [{ PARLEY_PUBLIC_URL: 'http://localhost:8080' }, { productionSigns: [] }],
  [
    { PARLEY_PUBLIC_URL: 'https://chat.example', DATABASE_URL: 'postgres://db/x', HOST: '0.0.0.0' },
    { productionSigns: [], embeddedPostgres: null },
  ],
  [{ PARLEY_EMBEDDED_POSTGRES: 'on', HOST: '0.0.0.0' }, { embeddedPostgres: true }],
  [{ PARLEY_EMBEDDED_POSTGRES: 'off' }, { embeddedPostgres: false }],
  [{ PARLEY_EMBEDDED_POSTGRES: 'off', PARLEY_DEMO: 'on' }, { embeddedPostgres: false }],
  [{ PARLEY_DEMO: 'on', NODE_ENV: 'production' }, { embeddedPostgres: true }],
  [
    { PARLEY_DEMO: 'off', NODE_ENV: 'production' },
    { embeddedPostgres: null, demo: false },
  ],
  [{ PARLEY_DEMO: 'off', PARLEY_DRAIN_DELAY_MS: '0' }, { drainDelayMs: 0 }],
  [{ PARLEY_DRAIN_DELAY_MS: '15000' }, { drainDelayMs: 15_000 }],
  [
    { DATABASE_URL: 'postgres://u:p@db/x' },
    { databaseUrl: 'postgres://u:p@db/x', demo: false, demoDay: false, host: '0.0.0.0' },
  ],
  [
    { DATABASE_URL: 'postgres://pooler/x', PARLEY_DATABASE_DIRECT_URL: 'postgres://db/x' },
    { databaseUrl: 'postgres://pooler/x', databaseDirectUrl: 'postgres://db/x' },
  ],
  [
    { DATABASE_URL: 'postgres://db/x', PARLEY_ADMIN_DATABASE_URL: 'postgres://a@db/x' },
    { databaseUrl: 'postgres://db/x', adminDatabaseUrl: 'postgres://a@db/x' },
  ],
  [
    { DATABASE_URL: 'postgresql://db/x', PARLEY_DEMO: 'on' },
    { demo: true, demoDay: false, host: '127.0.0.1' },
  ],
  [
    { PARLEY_DEMO: 'on', HOST: '0.0.0.0' },
    { demo: true, host: '0.0.0.0' },
  ],
  [
    { PARLEY_PUBLIC_URL: 'https://chat.example/' },
    {
      publicUrl: 'https://chat.example',
      vapidSubject: 'https://chat.example',
      mailFrom: { name: 'Parley', address: 'no-reply@chat.example' },
    },
  ],
  [{ PARLEY_PUBLIC_URL: 'http://chat.example:80' }, { vapidSubject: 'mailto:postmaster@chat.example' }],
  [{ PARLEY_PUBLIC_URL: 'http://10.0.0.1' }, { vapidSubject: 'mailto:postmaster@localhost' }],
  [
    { PARLEY_SMTP_URL: 'smtps://u:p%40@mail:465', PARLEY_MAIL_FROM: '"Harbor, Inc." <mail@harbor.example>' },
    {
      smtpUrl: 'smtps://u:p%40@mail:465',
      mailFrom: { name: 'Harbor, Inc.', address: 'mail@harbor.example' },
    },
  ],
  [{ PARLEY_MAIL_FROM: 'a@b.example' }, { mailFrom: { name: null, address: 'a@b.example' } }],
  [
    {
      PARLEY_DKIM_KEY: '/k.pem',
      PARLEY_DKIM_DOMAIN: 'harbor.example',
      PARLEY_DKIM_SELECTOR: 'mail2026',
    },
    { dkim: { keyFile: '/k.pem', domain: 'harbor.example', selector: 'mail2026' } },
  ],
  [{ PARLEY_MAIL_SECRET: 'n'.repeat(32) }, { mailSecrets: ['n'.repeat(32)] }],
  [
    { PARLEY_MAIL_SECRET: `${'n'.repeat(32)}, ${'o'.repeat(40)}` },
    { mailSecrets: ['n'.repeat(32), 'o'.repeat(40)] },
  ],
  [{ PARLEY_SMTP_LISTEN: '0.0.0.0:25' }, { smtpListen: { protocol: 'smtp', host: '0.0.0.0', port: 25 } }],
  [{ PARLEY_SMTP_LISTEN: 'lmtp://[::1]:24' }, { smtpListen: { protocol: 'lmtp', host: '::1', port: 24 } }],
  [
    { PARLEY_IMAP_URL: 'imaps://support%40a.example:p%3Aw@mail.a.example' },
    {
      imap: {
        host: 'mail.a.example',
        port: 993,
        secure: true,
        user: 'support@a.example',
        password: 'p:w',
        mailbox: 'INBOX',
      },
    },
  ],
  [
    { PARLEY_IMAP_URL: 'imap://u:p@localhost:1143/In/Support%20desk' },
    {
      imap: {
        host: 'localhost',
        port: 1143,
        secure: false,
        user: 'u',
        password: 'p',
        mailbox: 'In/Support desk',
      },
    },
  ],
  [{ PARLEY_VAPID_SUBJECT: 'mailto:ops@chat.example' }, { vapidSubject: 'mailto:ops@chat.example' }],
  [{ PARLEY_VAPID_SUBJECT: 'https://chat.example/us' }, { vapidSubject: 'https://chat.example/us' }],
  [{ PARLEY_ENCRYPTION_KEY: 'k'.repeat(32) }, { encryptionKeys: ['k'.repeat(32)] }],
  [
    { PARLEY_ENCRYPTION_KEY: `${'n'.repeat(40)}, ${'k'.repeat(32)}` },
    { encryptionKeys: ['n'.repeat(40), 'k'.repeat(32)] },
  ],
  [{ PARLEY_FCM_URL: 'https://push.example' }, { fcmUrl: 'https://push.example' }],
  [{ PARLEY_APNS_URL: 'https://push.example:2197' }, { apnsUrl: 'https://push.example:2197' }],
  [{ PARLEY_PROCESSES: '1' }, { processes: 1 }],
  [{ PARLEY_PROCESSES: '4', REDIS_URL: 'redis://cache' }, { processes: 4 }],
  [{ PARLEY_PROCESSES: 'auto', REDIS_URL: 'redis://cache' }, { processes: availableParallelism() }],
  [{ REDIS_URL: 'rediss://:secret@cache:6380/1' }, { redisUrl: 'rediss://:secret@cache:6380/1' }],
  [{ PARLEY_DATA_DIR: '/srv/parley' }, { dataDir: '/srv/parley' }],
  [{ PARLEY_REGISTRATION: 'open' }, { registration: 'open' }],
  [{ PARLEY_REGISTRATION: '100' }, { registration: 100 }],
  [{ PARLEY_RATE_LIMIT: 'off' }, { rateLimit: null }],
  [{ PARLEY_STORED_BYTES_PER_ACCOUNT: 'off' }, { storedBytesPerAccount: null }],
  [{ PARLEY_STORED_BYTES_PER_ACCOUNT: '1000' }, { storedBytesPerAccount: 1000 }],
  [{ PARLEY_RETENTION_SWEEP_MS: '100' }, { retentionSweepMs: 100 }],
  [{ PARLEY_RATE_LIMIT: '5/1' }, { rateLimit: { requests: 5, seconds: 1 } }],
  [
    { PARLEY_ALLOWED_ORIGINS: 'https://a.example, http://localhost:5173' },
    { allowedOrigins: ['https://a.example', 'http://localhost:5173'] },
  ],
  [{ PARLEY_ADMIN_PORT: 'off' }, { adminPort: null }],
  [{ PARLEY_ADMIN_PORT: '9090' }, { adminPort: 9090, adminHost: '127.0.0.1' }],
  [{ PARLEY_ADMIN_PORT: '9090', HOST: '0.0.0.0' }, { adminHost: '0.0.0.0' }],
  [
    { PARLEY_ADMIN_PORT: '9090', HOST: '0.0.0.0', PARLEY_ADMIN_HOST: '127.0.0.1' },
    { host: '0.0.0.0', adminHost: '127.0.0.1' },
  ],
  [{ PARLEY_DOCS_URL: 'https://docs.example/parley/' }, { docsUrl: 'https://docs.example/parley' }],
  [
    { PARLEY_TLS_CERT: '/c.pem', PARLEY_TLS_KEY: '/k.pem' },
    { tls: { certFile: '/c.pem', keyFile: '/k.pem' } },
  ],
  [
    { PARLEY_FETCH_ALLOW: '127.0.0.1,10.0.0.0/8,[::1]:8080,::1,fd00::/8,localhost:9000' },
    { fetchAllow: ['127.0.0.1', '10.0.0.0/8', '[::1]:8080', '::1', 'fd00::/8', 'localhost:9000'] },
  ],
  [
    { PARLEY_MODELS: '{"high":[{"provider":"openai-compatible","model":"m","base_url":"http://x/v1"}]}' },
    {
      models: {
        openaiApiKey: null,
        anthropicApiKey: null,
        chains: { high: [{ provider: 'openai-compatible', model: 'm', base_url: 'http://x/v1' }] },
      },
    },
  ],
  [
    {
      ANTHROPIC_API_KEY: 'key',
      PARLEY_MODELS:
        '{"cheap":[{"provider":"anthropic","model":"c","context_tokens":8000,"input_price":0.1,"output_price":0}]}',
    },
    {
      models: {
        openaiApiKey: null,
        anthropicApiKey: 'key',
        chains: {
          cheap: [
            { provider: 'anthropic', model: 'c', context_tokens: 8_000, input_price: 0.1, output_price: 0 },
          ],
        },
      },
    },
  ],
  [
    { PARLEY_S3_BUCKET: 'b', PARLEY_S3_ENDPOINT: 'http://minio:9000' },
    { s3: { bucket: 'b', region: 'us-east-1', endpoint: 'http://minio:9000', credentials: null } },
  ],
  [
    { PARLEY_SOCKET_HEARTBEAT_MS: '100', PARLEY_SOCKET_BAD_FRAMES_PER_MINUTE: '3' },
    { socket: { ...SOCKET_LIMITS, heartbeatMs: 100, badFramesPerMinute: 3 } },
  ],
  [{ PATH: '/bin', npm_config_cache: '/x' }, { port: 8080 }],
  // Near a known name, but too short to be a misspelling, too far, or beside the name that is
  // meant.
  [{ POST: 'x', HOSTS: 'x', HOSTNAME: 'x', PORTS: 'x', SORT: 'x' }, { port: 8080 }],
  [{ TEST_DATABASE_URL: 'x', DATABASE: 'x', OPENAI_API_BASE: 'x' }, { databaseUrl: null }],
  [{ DATABASE_URI: 'x', DATABASE_URL: 'postgres://db/x' }, { databaseUrl: 'postgres://db/x' }],
  [{ npm_lifecycle_event: 'start' }, { startedByNpm: true }],
  [{ npm_lifecycle_event: 'test' }, { startedByNpm: false }],
];

for (const [env, expected] of ACCEPTED) {
  t.test(`accepts ${JSON.stringify(env)}`, async (t) => {
    const config: Readonly<Record<string, unknown>> = { ...readConfig(env) };
    for (const [name, value] of Object.entries(expected)) t.strictSame(config[name], value, name);
  });
}

const MULTILINE = new Set(['PARLEY_AUDIT_KEY', 'PARLEY_MODELS']);

const SECRETS = [
  'ANTHROPIC_API_KEY',
  'DATABASE_URL',
  'OPENAI_API_KEY',
  'PARLEY_ADMIN_DATABASE_URL',
  'PARLEY_AUDIT_KEY',
  'PARLEY_DATABASE_DIRECT_URL',
  'PARLEY_ENCRYPTION_KEY',
  'PARLEY_IMAP_URL',
  'PARLEY_MAIL_SECRET',
  'PARLEY_MODELS',
  'PARLEY_S3_ACCESS_KEY_ID',
  'PARLEY_S3_SECRET_ACCESS_KEY',
  'PARLEY_SMTP_URL',
  'PARLEY_TOKEN_SECRET',
  'REDIS_URL',
];

const OTHERS: Environment = {
  OPENAI_API_KEY: 'key',
  DATABASE_URL: 'postgres://u:p%40@db/x',
  PARLEY_ADMIN_PORT: '9090',
  PARLEY_APNS_URL: 'https://apns.example',
  PARLEY_AUDIT_KEY: 'A'.repeat(43),
  PARLEY_AUDIT_OLD_KEYS: `${'A'.repeat(43)},${'B'.repeat(43)}`,
  PARLEY_ENCRYPTION_KEY: 'e'.repeat(32),
  PARLEY_FCM_URL: 'https://fcm.example',
  PARLEY_CELLS: 'https://one.example,https://two.example',
  PARLEY_DEMO_DAY: 'off',
  PARLEY_DRAIN_MS: '5000',
  PARLEY_HOME_CELL: 'https://home.example',
  PARLEY_IMPORT_MAX_BYTES: '1000000',
  PARLEY_LOG_LEVEL: 'warn',
  PARLEY_MAIL_AUTHSERV: 'mx.example.com',
  PARLEY_MAIL_DAYS: '5',
  PARLEY_MAIL_DOMAINS: 'example.com',
  PARLEY_PUBLIC_URL: 'https://chat.example',
  PARLEY_REQUEST_LOG_URL: 'https://logs.example/{request_id}',
  PARLEY_RESTORE_DAYS: '5',
  PARLEY_S3_ACCESS_KEY_ID: 'id',
  PARLEY_S3_BUCKET: 'b',
  PARLEY_S3_REGION: 'eu-west-1',
  PARLEY_S3_SECRET_ACCESS_KEY: 'key',
  PARLEY_TOKEN_SECRET: 'n'.repeat(32),
  PARLEY_UNSAFE_POSTGRES: 'accept',
  PARLEY_WEBHOOK_DAYS: '5',
};

t.test('what Kubernetes sets for Services called parley and parley-redis is no mistake', async (t) => {
  const of = (service: string, port: number) => ({
    [`${service}_SERVICE_HOST`]: '10.96.0.7',
    [`${service}_SERVICE_PORT`]: `${port}`,
    [`${service}_SERVICE_PORT_HTTP`]: `${port}`,
    [`${service}_PORT`]: `tcp://10.96.0.7:${port}`,
    [`${service}_PORT_${port}_TCP`]: `tcp://10.96.0.7:${port}`,
    [`${service}_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_${port}_TCP_PORT`]: `${port}`,
    [`${service}_PORT_${port}_TCP_ADDR`]: '10.96.0.7',
  });
  t.strictSame(readConfig({ ...of('PARLEY', 8080), ...of('PARLEY_REDIS', 6379) }), readConfig({}));
  t.match(problemsOf({ PARLEY_PORT: '9000' }), [
    /^PARLEY_PORT is not a variable of Parley: did you mean PORT/,
  ]);
});

t.test('every secret can come from a file, as it would from the environment', async (t) => {
  const directory = t.testdir();
  const tried = new Set<string>();
  for (const env of [...ACCEPTED.map(([env]) => env), OTHERS]) {
    const expected = readConfig(env);
    for (const name of SECRETS.filter((name) => env[name])) {
      tried.add(name);
      const path = join(directory, name);
      const { [name]: value, ...others } = env;
      const fromFile = { ...others, [`${name}_FILE`]: path };
      for (const end of ['', '\n', '\r\n']) {
        writeFileSync(path, value + end);
        t.strictSame(readConfig(fromFile), expected, `${name}${JSON.stringify(end)}`);
      }
      t.match(problemsOf({ ...fromFile, [name]: value }), [`${name} and ${name}_FILE are both set`]);
      rmSync(path);
      t.match(problemsOf(fromFile), [new RegExp(`^${name}_FILE cannot be read: ENOENT`)]);
    }
  }
  t.strictSame(
    SECRETS.filter((name) => !tried.has(name)),
    [],
    'every secret is tried',
  );
  writeFileSync(join(directory, 'two'), `${'n'.repeat(32)}\n\n`);
  t.match(problemsOf({ PARLEY_TOKEN_SECRET_FILE: join(directory, 'two') }), [/line break/]);
  t.match(problemsOf({ PARLEY_LOG_LEVEL_FILE: '/x' }), [/^PARLEY_LOG_LEVEL_FILE is not a variable/]);
  t.match(problemsOf({ DATABSE_URL_FILE: '/x' }), [/did you mean DATABASE_URL_FILE/]);
});

t.test('a line break at the end of a value is left out, and another one is refused', async (t) => {
  const sources = ['src/app/config.ts', ...globSync('src/features/*/settings.ts', { cwd: ROOT })];
  const source = sources.map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n');
  const read = new Set([...source.matchAll(/reader\.read\('(\w+)'/g)].map(([, name]) => name!));
  const environments = [...ACCEPTED.map(([env]) => env), OTHERS];
  for (const env of environments) {
    const without = readConfig(env);
    const set = Object.keys(env).filter((name) => env[name] !== '' && read.has(name));
    for (const end of ['\n', '\r\n', '\n\n']) {
      const broken = set.map((name) => [name, env[name] + end]);
      t.strictSame(readConfig({ ...env, ...Object.fromEntries(broken) }), without, JSON.stringify(broken));
    }
    for (const name of set.filter((name) => !MULTILINE.has(name))) {
      for (const character of ['\n', '\t', '\x7f']) {
        const problems = problemsOf({
          ...env,
          [name]: `${env[name]!.slice(0, -1)}${character}${env[name]!.slice(-1)}`,
        });
        t.match(problems, [new RegExp(`^${name} must be .* control character$`)], name);
      }
    }
  }
  const tried = new Set(environments.flatMap((env) => Object.keys(env)));
  t.strictSame(
    [...read].filter((name) => !tried.has(name)),
    [],
    'every variable is tried',
  );
});

/** Each with the words that its one problem must have. */
const REFUSED: readonly (readonly [Environment, ...RegExp[]])[] = [
  [{ PORT: 'http' }, /^PORT must be .*0 to 65535.*"http"$/],
  [{ PORT: '65536' }, /^PORT /],
  [{ PORT: '-1' }, /^PORT /],
  [{ PORT: '80.5' }, /^PORT /],
  [{ HOST: 'http://x' }, /^HOST /],
  [{ PARLEY_ADMIN_DATABASE_URL: 'postgres://db/x' }, /^PARLEY_ADMIN_DATABASE_URL .* without DATABASE_URL/],
  [{ PARLEY_DATABASE_DIRECT_URL: 'postgres://db/x' }, /^PARLEY_DATABASE_DIRECT_URL .* without DATABASE_URL/],
  [{ DATABASE_URL: 'mysql://root:hunter2@db' }, /^DATABASE_URL must be postgres:\/\/.*$/],
  [{ PARLEY_PROCESSES: '2' }, /^PARLEY_PROCESSES: 2 processes need REDIS_URL/],
  [{ PARLEY_PROCESSES: '0' }, /^PARLEY_PROCESSES .*auto or a whole number from 1 to 256/],
  [{ PARLEY_PROCESSES: '-1' }, /^PARLEY_PROCESSES .*auto/],
  [{ PARLEY_PROCESSES: '1.5' }, /^PARLEY_PROCESSES .*auto/],
  [{ PARLEY_PROCESSES: 'all', REDIS_URL: 'redis://cache' }, /^PARLEY_PROCESSES .*auto/],
  [{ REDIS_URL: 'localhost:6379' }, /^REDIS_URL .*redis:\/\//],
  [{ PARLEY_DEMO: 'yes' }, /^PARLEY_DEMO must be on or off, not "yes"$/],
  [{ PARLEY_AUDIT_KEY: 'hunter2' }, /^PARLEY_AUDIT_KEY .*ed25519/],
  [{ PARLEY_AUDIT_OLD_KEYS: `${'A'.repeat(43)},short` }, /^PARLEY_AUDIT_OLD_KEYS .*ed25519/],
  [{ PARLEY_TOKEN_SECRET: 'hunter2' }, /^PARLEY_TOKEN_SECRET .*at least 32/],
  [{ PARLEY_ALLOWED_ORIGINS: 'https://a.example/path' }, /^PARLEY_ALLOWED_ORIGINS .*origins/],
  [{ PARLEY_ALLOWED_ORIGINS: '*' }, /^PARLEY_ALLOWED_ORIGINS /],
  [{ PARLEY_REGISTRATION: '0' }, /^PARLEY_REGISTRATION .*closed, open or a number of accounts/],
  [{ PARLEY_RATE_LIMIT: '600' }, /^PARLEY_RATE_LIMIT .*off or <requests>\/<seconds>/],
  [{ PARLEY_RATE_LIMIT: '0/60' }, /^PARLEY_RATE_LIMIT /],
  [{ PARLEY_LOG_LEVEL: 'loud' }, /^PARLEY_LOG_LEVEL .*trace, debug, info/],
  [{ PARLEY_DRAIN_MS: '10s' }, /^PARLEY_DRAIN_MS .*whole number/],
  [{ PARLEY_DRAIN_DELAY_MS: '-1' }, /^PARLEY_DRAIN_DELAY_MS .*whole number/],
  [{ PARLEY_DOCS_URL: 'docs.example' }, /^PARLEY_DOCS_URL .*http:\/\//],
  [{ PARLEY_MAIL_SECRET: 'hunter2' }, /^PARLEY_MAIL_SECRET must be a secret/],
  [{ PARLEY_MAIL_SECRET: [1, 2, 3].map(() => 'hunter2'.repeat(5)).join() }, /^PARLEY_MAIL_SECRET must/],
  ...['25', 'mail:99999', '[mail]:25', 'smtps://mail:465', '::1:25'].map(
    (text) => [{ PARLEY_SMTP_LISTEN: text }, /^PARLEY_SMTP_LISTEN must be <host>:<port>/] as const,
  ),
  ...['imaps://mail', 'imaps://u@mail', 'https://u:hunter2@mail', 'imaps://u:%hunter2@mail', 'mail'].map(
    (text) => [{ PARLEY_IMAP_URL: text }, /^PARLEY_IMAP_URL must be imaps:/] as const,
  ),
  ...Object.entries({ '#': '%23', '/': '%2F', '?': '%3F', '%': '%25' }).flatMap(([character, code]) =>
    [
      ['DATABASE_URL', `postgres://u:hunter2${character}x@db/x`],
      ['DATABASE_URL', `postgres://u:1${character}hunter2@a:1,b:2/x`],
      ['REDIS_URL', `redis://:hunter2${character}@cache#one,redis://other#two`],
      ['REDIS_URL', `redis://other#two,redis://:hunter2${character}@cache`],
      ['REDIS_URL', `redis+sentinel://:hunter2${character}@a:1,b:2/main`],
      ['PARLEY_SMTP_URL', `smtp://u${character}:hunter2@mail`],
      ['PARLEY_IMAP_URL', `imaps://u:${character}hunter2@mail/INBOX`],
    ].map(
      ([name, url]) =>
        [
          { [name!]: url },
          new RegExp(`^${name} must be .*: "\\${character}" .* written as ${code}$`),
        ] as const,
    ),
  ),
  [{ DATABASE_URL: 'postgres://u:hunter2/x==@db/x' }, /^DATABASE_URL must be .*: "\/" .* written as %2F$/],
  [
    { PARLEY_TLS_CERT: '/c.pem', PARLEY_TLS_KEY: '-----BEGIN PRIVATE KEY-----\nhunter2' },
    /^PARLEY_TLS_KEY must be a path: it has a line break/,
    /together/,
  ],
  [{ PARLEY_PUBLIC_URL: ' https://chat.example' }, /^PARLEY_PUBLIC_URL must be a URL that begins/],
  [{ PARLEY_VAPID_SUBJECT: 'https://chat.example /us' }, /^PARLEY_VAPID_SUBJECT must be a URL/],
  [{ PARLEY_ENCRYPTION_KEY: 'short' }, /^PARLEY_ENCRYPTION_KEY must be a secret of at least 32/],
  [{ PARLEY_FCM_URL: 'https://push.example/v1' }, /^PARLEY_FCM_URL must be the origin/],
  [{ PARLEY_APNS_URL: 'push.example' }, /^PARLEY_APNS_URL must be the origin/],
  [{ PARLEY_TLS_CERT: '/c.pem' }, /PARLEY_TLS_CERT and PARLEY_TLS_KEY .*together/],
  [{ PARLEY_MODELS: '{"high":[]}' }, /^PARLEY_MODELS .*JSON object/],
  [{ PARLEY_MODELS: 'gpt' }, /^PARLEY_MODELS /],
  [{ PARLEY_MODELS: '{"high":[{"provider":"openai-compatible","model":"m"}]}' }, /^PARLEY_MODELS .*base_url/],
  [
    { PARLEY_MODELS: '{"high":[{"provider":"demo","model":"m","base_url":"x"}]}' },
    /^PARLEY_MODELS .*base_url/,
  ],
  [{ PARLEY_MODELS: '{"high":[{"provider":"demo","model":"m","context_tokens":10}]}' }, /context_tokens/],
  [{ PARLEY_MODELS: '{"high":[{"provider":"demo","model":"m","input_price":-1}]}' }, /input_price/],
  [{ PARLEY_MODELS: '{"high":[{"provider":"demo","model":"m","prices":1}]}' }, /^PARLEY_MODELS /],
  [
    {
      PARLEY_MODELS:
        '{"high":[{"provider":"openai","model":"m"}],"cheap":[{"provider":"anthropic","model":"m"}]}',
    },
    /openai needs .*OPENAI_API_KEY/,
    /anthropic needs .*ANTHROPIC_API_KEY/,
  ],
  [{ PARLEY_MODELS: '{"best":[{"provider":"openai","model":"m"}]}' }, /^PARLEY_MODELS .*frontier/],
  [{ PARLEY_FETCH_ALLOW: '10.0.0.0/33' }, /^PARLEY_FETCH_ALLOW .*networks/],
  ...['http://x/', '300.1.1.1', '10.0.0', 'a..example', 'files.internal:0', 'x:70000'].map(
    (place) => [{ PARLEY_FETCH_ALLOW: `10.1.1.1,${place}` }, /^PARLEY_FETCH_ALLOW /] as const,
  ),
  [{ PARLEY_S3_REGION: 'eu-west-1' }, /^PARLEY_S3_BUCKET must be set/],
  [{ PARLEY_S3_BUCKET: 'b', PARLEY_S3_ACCESS_KEY_ID: 'id' }, /PARLEY_S3_SECRET_ACCESS_KEY .*together/],
  [{ PARLEY_SOCKET_HEARTBEAT_MS: '0' }, /^PARLEY_SOCKET_HEARTBEAT_MS .*from 1/],
  [{ PARLEY_SOCKET_PONGS_PER_DAY: '1' }, /^PARLEY_SOCKET_PONGS_PER_DAY is not .*PARLEY_SOCKET_HEARTBEAT_MS/],
  [{ PARLEY_COLOR: 'red' }, /^PARLEY_COLOR is not a variable of Parley; accepted are .*PARLEY_DEMO/],
  [
    { PARLEY_EMBEDDED_POSTGRES: 'on', DATABASE_URL: 'postgres://db/x' },
    /^PARLEY_EMBEDDED_POSTGRES has no effect beside DATABASE_URL: set one of them$/,
  ],
  [{ PARLEY_ADMIN_HOST: '127.0.0.1' }, /^PARLEY_ADMIN_HOST has no effect without PARLEY_ADMIN_PORT/],
  [{ PARLEY_SMTP_URL: 'http://hunter2@mail' }, /^PARLEY_SMTP_URL must be smtp:/],
  [{ PARLEY_MAIL_FROM: 'Parley <no-reply>' }, /^PARLEY_MAIL_FROM must be an e-mail address/],
  [{ PARLEY_MAIL_FROM: 'a@b.c\r\nBcc: d@e.f' }, /^PARLEY_MAIL_FROM must be an e-mail address/],
  [{ PARLEY_DKIM_KEY: '/k.pem', PARLEY_DKIM_DOMAIN: 'example.com' }, /^PARLEY_DKIM_KEY, .* together$/],
  [
    { PARLEY_UMBRELLA_SECRET: 'hunter2-hunter2-hunter2' },
    /^PARLEY_UMBRELLA_SECRET is not a variable of Parley/,
  ],
  ...Object.entries({
    DATABSE_URL: 'DATABASE_URL',
    DATABASE_URI: 'DATABASE_URL',
    database_url: 'DATABASE_URL',
    REDISURL: 'REDIS_URL',
    PROT: 'PORT',
    Host: 'HOST',
    OPENAI_APIKEY: 'OPENAI_API_KEY',
    PARLEY_DATABASE_URL: 'DATABASE_URL',
    PARLEY_PORT: 'PORT',
    PARLEY_RATELIMIT: 'PARLEY_RATE_LIMIT',
    PARLEY_SOCKET_HEARTBEATS: 'PARLEY_SOCKET_HEARTBEAT_MS',
  }).map(
    ([name, meant]) =>
      [
        { [name]: 'hunter2' },
        new RegExp(`^${name} is not a variable of Parley: did you mean ${meant}\\?`),
      ] as const,
  ),
];

for (const [env, ...words] of REFUSED) {
  t.test(`refuses ${JSON.stringify(env)}`, async (t) => {
    const problems = problemsOf(env);
    t.equal(problems.length, words.length, problems.join('\n'));
    words.forEach((word, at) => {
      t.match(problems[at], word);
    });
    t.notMatch(problems.join('\n'), 'hunter2', 'a secret is not shown');
    t.notMatch(problems.join(''), '\n', 'one line each');
  });
}

t.test('every problem is named at once', async (t) => {
  const env = {
    PORT: 'x',
    PARLEY_DEMO: 'maybe',
    PARLEY_RATE_LIMIT: 'fast',
    PARLEY_COLOR: 'red',
    PARLEY_SIZE: '1',
  };
  const problems = problemsOf(env);
  t.equal(problems.length, 5);
  for (const name of Object.keys(env)) t.match(problems.join('\n'), new RegExp(`^${name} `, 'm'));
});

t.test('the configuration cannot be changed, at any depth', async (t) => {
  const config = readConfig({});
  t.throws(() => Object.assign(config, { port: 1 }), TypeError);
  t.throws(() => Object.assign(config.socket, { heartbeatMs: 1 }), TypeError);
  t.throws(() => (config.allowedOrigins as string[]).push('https://evil.example'), TypeError);
});

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

t.test('what is probably not meant is warned of', (t) => {
  const warningsOf = (env: Environment) => readWarnings(readConfig(env), env);
  const url = 'postgres://u:p@db/x';
  const [warning, ...others] = warningsOf({
    DATABASE_URL: url,
    DATABSE_URL: url,
    PARLEY_PUBLIC_URL: 'https://chat.example',
  });
  t.match(warning, /^DATABSE_URL is not a variable of Parley, .* DATABASE_URL is set too/);
  t.strictSame(others, []);
  t.match(warningsOf({ DATABASE_URL: url }), [/^PARLEY_PUBLIC_URL is not set, and HOST is 0\.0\.0\.0: /]);
  const admin = { HOST: '127.0.0.1', PARLEY_ADMIN_PORT: '9090' };
  t.match(warningsOf({ ...admin, PARLEY_ADMIN_HOST: '0.0.0.0' }), [
    /^PARLEY_ADMIN_PORT listens on 0\.0\.0\.0/,
  ]);
  for (const env of [
    {},
    admin,
    { DATABASE_URL: url, HOST: '127.0.0.1' },
    { DATABASE_URL: url, HOST: 'localhost' },
  ]) {
    t.strictSame(warningsOf(env), []);
  }
  t.end();
});
