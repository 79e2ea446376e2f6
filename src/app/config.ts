/**
 * The environment, read once (docs/configuration.md). Only this file may mention process.env; other
 * modules receive the frozen result. Every variable is optional; an empty one counts as unset.
 */

import { resolve } from 'node:path';
import { SOCKET_LIMITS, type SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import { readAgentSettings } from '../features/agents/settings.ts';
import { readCellSettings } from '../features/cells/settings.ts';
import { readComplianceSettings } from '../features/compliance/settings.ts';
import { readImportSettings } from '../features/import/settings.ts';
import { readMailSettings } from '../features/mail/settings.ts';
import { readPushSettings } from '../features/push/settings.ts';
import { readWebhookSettings } from '../features/webhooks/settings.ts';
import { isLoopbackAddress, isLoopbackOrigin } from '../platform/http/origins.ts';
import { type Environment, Reader } from '../platform/settings/reader.ts';
import * as kinds from '../platform/settings/values.ts';

/** The settings by their names in the code; null for unset ones. */
export type Config = Readonly<ReturnType<typeof readSettings>>;

/** Throws ConfigError. */
export function loadConfig(): Config {
  return readConfig(process.env);
}

/** Throws ConfigError that names every bad value and every unknown `PARLEY_*` key at once. */
export function readConfig(env: Environment): Config {
  const reader = new Reader(env);
  const config = readSettings(reader, env);
  reader.finish();
  return deepFreeze(config);
}

/**
 * Returns what is probably not meant in an environment that is accepted: names beside which the
 * right one is set, addresses of the API that only this machine reaches, and metrics that others
 * reach.
 */
export function readWarnings(
  { host, publicUrl, adminPort, adminHost }: Pick<Config, 'host' | 'publicUrl' | 'adminPort' | 'adminHost'>,
  env: Environment = process.env,
): string[] {
  const reader = new Reader(env);
  readSettings(reader, env);
  const warnings = reader.misspellings();
  if (publicUrl === null && !isLoopback(host)) {
    warnings.push(
      `PARLEY_PUBLIC_URL is not set, and HOST is ${host}: links in answers and mails name this machine. Set it to the URL that callers use.`,
    );
  }
  if (typeof adminPort === 'number' && !isLoopback(adminHost)) {
    warnings.push(
      `PARLEY_ADMIN_PORT listens on ${adminHost}: everybody that reaches it reads the metrics. Set PARLEY_ADMIN_HOST, or close the port to others.`,
    );
  }
  return warnings;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}

function readSettings(reader: Reader, env: Environment) {
  const databaseUrl = reader.read('DATABASE_URL', kinds.POSTGRES_URL, null);
  const databaseDirectUrl = reader.read('PARLEY_DATABASE_DIRECT_URL', kinds.POSTGRES_URL, null);
  if (databaseDirectUrl !== null && databaseUrl === null) {
    reader.problem('PARLEY_DATABASE_DIRECT_URL has no effect without DATABASE_URL: set both or neither');
  }
  const adminDatabaseUrl = reader.read('PARLEY_ADMIN_DATABASE_URL', kinds.POSTGRES_URL, null);
  if (adminDatabaseUrl !== null && databaseUrl === null) {
    reader.problem('PARLEY_ADMIN_DATABASE_URL has no effect without DATABASE_URL: set both or neither');
  }
  const askedDemo = reader.read('PARLEY_DEMO', kinds.SWITCH, null);
  /** Whether to seed the demo account and to write demo.json. */
  const demo = askedDemo ?? databaseUrl === null;
  const askedHost = reader.read('HOST', kinds.HOST, null);
  const host = askedHost ?? (demo ? '127.0.0.1' : '0.0.0.0');
  const publicUrl = reader.read('PARLEY_PUBLIC_URL', kinds.WEB_URL, null);
  const redisUrl = reader.read('REDIS_URL', kinds.REDIS_URL, null);
  return {
    /** 0 takes a free port. */
    port: reader.read('PORT', kinds.PORT_NUMBER, 8080),
    /** Loopback while demo.json holds secrets of the demo account, else every address. */
    host,
    /** Without a trailing slash; null if callers use the address listened on. */
    publicUrl,
    homeCell: readHomeCell(reader, publicUrl),
    /** Null for the embedded Postgres. */
    databaseUrl,
    ...readEmbedded(reader, env, { askedDemo, askedHost, databaseUrl, publicUrl, redisUrl }),
    /** For uses that need their own session; null if `databaseUrl` gives each connection one. */
    databaseDirectUrl,
    /**
     * The same database for `admin`, as a role with connections of its own; null for the node's.
     */
    adminDatabaseUrl,
    /** Whether a Postgres that may lose or damage data in a crash is used without a warning. */
    acceptsUnsafePostgres: reader.read('PARLEY_UNSAFE_POSTGRES', kinds.ACCEPTED, false),
    /** Null for the in-process engine. */
    redisUrl,
    /** The nodes that one supervisor runs on this port; 1 without a supervisor. */
    processes: readProcesses(reader, redisUrl),
    /** An absolute path. */
    dataDir: resolve(reader.read('PARLEY_DATA_DIR', kinds.PATH, './.data')),
    demo,
    /** Whether the demo account has a day of conversations. */
    demoDay: reader.read('PARLEY_DEMO_DAY', kinds.SWITCH, databaseUrl === null),
    /** Null for a secret that is made once and kept in the database. */
    tokenSecret: reader.read('PARLEY_TOKEN_SECRET', kinds.SECRET, null),
    /** Null for a key that is made once and kept in the data directory. */
    auditKey: reader.read('PARLEY_AUDIT_KEY', kinds.PRIVATE_KEY, null),
    /** Earlier public keys. */
    auditOldKeys: reader.read('PARLEY_AUDIT_OLD_KEYS', kinds.PUBLIC_KEYS, []),
    /** In the form that browsers send. */
    allowedOrigins: reader.read('PARLEY_ALLOWED_ORIGINS', kinds.ORIGINS, []),
    /** Per credential; null for no limits at all. */
    rateLimit: reader.read('PARLEY_RATE_LIMIT', kinds.RATE_LIMIT, { requests: 600, seconds: 60 }),
    /** A number allows that many accounts. */
    registration: reader.read('PARLEY_REGISTRATION', kinds.REGISTRATION, 'closed'),
    ...readAdmin(reader, host),
    /** Without a trailing slash; null for this server's own /docs. */
    docsUrl: reader.read('PARLEY_DOCS_URL', kinds.WEB_URL, null),
    /** For `request_log_url` in errors; may contain `{request_id}`. */
    requestLogUrl: reader.read('PARLEY_REQUEST_LOG_URL', kinds.WEB_URL, null),
    logLevel: reader.read('PARLEY_LOG_LEVEL', kinds.LOG_LEVEL, 'info'),
    /** Bytes of files; null for no limit. */
    storedBytesPerAccount: reader.read('PARLEY_STORED_BYTES_PER_ACCOUNT', kinds.BYTES, 100 * 1024 ** 3),
    /**
     * Milliseconds for which `/readyz` announces a stop before anything ends. As a rule, no load
     * balancer sends requests to a node with the demo account.
     */
    drainDelayMs: reader.read('PARLEY_DRAIN_DELAY_MS', kinds.wholeNumber(0, 600_000), demo ? 0 : 5_000),
    /** Milliseconds that a stop waits for requests and sockets. */
    drainMs: reader.read('PARLEY_DRAIN_MS', kinds.wholeNumber(0, 600_000), 10_000),
    /** Null for plain HTTP. */
    tls: readTls(reader),
    /** Addresses, networks or names, each with or without a port. */
    fetchAllow: reader.read('PARLEY_FETCH_ALLOW', kinds.ADDRESSES, []),
    /** Null if uploaded files are stored in the data directory. */
    s3: readS3(reader),
    socket: readSocketLimits(reader),
    /** True under `npm start`, which ends this process when it ends, unless npm is killed. */
    startedByNpm: env.npm_lifecycle_event === 'start',
    ...readAgentSettings(reader),
    ...readCellSettings(reader),
    ...readComplianceSettings(reader),
    ...readImportSettings(reader),
    ...readMailSettings(reader, publicUrl),
    ...readPushSettings(reader, publicUrl),
    ...readWebhookSettings(reader),
  };
}

function readEmbedded(
  reader: Reader,
  env: Environment,
  given: {
    readonly askedDemo: boolean | null;
    readonly askedHost: string | null;
    readonly databaseUrl: string | null;
    readonly publicUrl: string | null;
    readonly redisUrl: string | null;
  },
) {
  const { askedHost, databaseUrl, publicUrl } = given;
  const asked = reader.read('PARLEY_EMBEDDED_POSTGRES', kinds.SWITCH, null);
  if (asked === true && databaseUrl !== null) {
    reader.problem('PARLEY_EMBEDDED_POSTGRES has no effect beside DATABASE_URL: set one of them');
  }
  const signs = {
    'NODE_ENV=production': env.NODE_ENV === 'production',
    REDIS_URL: given.redisUrl !== null,
    [`PARLEY_PUBLIC_URL=${publicUrl}`]: publicUrl !== null && !isLoopbackOrigin(new URL(publicUrl).origin),
    [`HOST=${askedHost}`]: askedHost !== null && !isLoopback(askedHost),
  };
  return {
    /** Whether a node may make a database of its own; null where no setting says so. */
    embeddedPostgres: asked ?? (given.askedDemo === true ? true : null),
    /**
     * The settings that say production, as far as no database of a node's own is expected there.
     */
    productionSigns: databaseUrl === null ? Object.keys(signs).filter((name) => signs[name]) : [],
  };
}

/** Returns the installation that knows where accounts unknown here are. */
function readHomeCell(reader: Reader, publicUrl: string | null): string | null {
  const homeCell = reader.read('PARLEY_HOME_CELL', kinds.WEB_URL, null);
  if (homeCell !== null && homeCell === publicUrl) {
    reader.problem('PARLEY_HOME_CELL: this is PARLEY_PUBLIC_URL itself; leave it out at the home cell');
  }
  return homeCell;
}

function readProcesses(reader: Reader, redisUrl: string | null): number {
  const processes = reader.read('PARLEY_PROCESSES', kinds.PROCESSES, 1);
  if (processes > 1 && redisUrl === null) {
    reader.problem(`PARLEY_PROCESSES: ${processes} processes need REDIS_URL, which connects them`);
  }
  return processes;
}

function readAdmin(reader: Reader, host: string) {
  const asked = reader.read('PARLEY_ADMIN_PORT', kinds.ADMIN_PORT, null);
  const adminPort = asked ?? ('default' as const);
  const adminHost = reader.read('PARLEY_ADMIN_HOST', kinds.HOST, null);
  if (adminHost !== null && typeof adminPort !== 'number') {
    reader.problem('PARLEY_ADMIN_HOST has no effect without PARLEY_ADMIN_PORT: set both or neither');
  }
  return {
    /**
     * The only port with /metrics; it has the probes too. 0 takes a free port, and `default` the
     * first free one from ADMIN_PORTS on; null opens none.
     */
    adminPort: adminPort === 'off' ? null : adminPort,
    /** Loopback, or `host` where a port is set (DECISIONS.md#the-admin-port). */
    adminHost: adminHost ?? (typeof adminPort === 'number' ? host : '127.0.0.1'),
  };
}

function readTls(reader: Reader) {
  const certFile = reader.read('PARLEY_TLS_CERT', kinds.PATH, null);
  const keyFile = reader.read('PARLEY_TLS_KEY', kinds.PATH, null);
  if (certFile !== null && keyFile !== null)
    return { certFile: resolve(certFile), keyFile: resolve(keyFile) };
  if (certFile !== keyFile) {
    reader.problem('PARLEY_TLS_CERT and PARLEY_TLS_KEY must be set together: two paths of PEM files');
  }
  return null;
}

function readS3(reader: Reader) {
  const bucket = reader.read('PARLEY_S3_BUCKET', kinds.TEXT, null);
  const region = reader.read('PARLEY_S3_REGION', kinds.TEXT, null);
  const endpoint = reader.read('PARLEY_S3_ENDPOINT', kinds.WEB_URL, null);
  const accessKeyId = reader.read('PARLEY_S3_ACCESS_KEY_ID', kinds.TEXT, null);
  const secretAccessKey = reader.read('PARLEY_S3_SECRET_ACCESS_KEY', kinds.TEXT, null);
  if ((accessKeyId === null) !== (secretAccessKey === null)) {
    reader.problem('PARLEY_S3_ACCESS_KEY_ID and PARLEY_S3_SECRET_ACCESS_KEY must be set together');
  }
  if (bucket === null) {
    if (region ?? endpoint ?? accessKeyId ?? secretAccessKey) {
      reader.problem('PARLEY_S3_BUCKET must be set when another PARLEY_S3_* is: the name of a bucket');
    }
    return null;
  }
  return {
    bucket,
    region: region ?? 'us-east-1',
    /** Null for AWS itself. With an endpoint, buckets are addressed by path. */
    endpoint,
    /** Null for the credentials of the machine's role. */
    credentials: accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey },
  };
}

/** Reads the limits: `heartbeatMs`, for example, is PARLEY_SOCKET_HEARTBEAT_MS. */
function readSocketLimits(reader: Reader): SocketLimits {
  const entries = Object.entries(SOCKET_LIMITS).map(([name, byDefault]) => {
    const variable = `PARLEY_SOCKET_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
    return [name, reader.read(variable, kinds.wholeNumber(1, 2_000_000_000), byDefault)];
  });
  return Object.fromEntries(entries);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
