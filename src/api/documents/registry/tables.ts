import type { ColumnType } from 'kysely';
import type { Time } from '../../../platform/db/tables/touched.ts';

declare module '../../../platform/db/tables/schema.ts' {
  interface Schema extends RegistryTables {}
}

interface RegistryTables {
  /** Packages of the SDK, a row for each release. */
  client_packages: {
    version: string;
    manifest: ColumnType<ClientManifest, string, never>;
    tarball: Buffer;
    created_at: Time;
  };
}

/** The package.json of a tarball, with digests of its bytes as npm has them. */
export interface ClientManifest {
  readonly name: string;
  readonly version: string;
  readonly dist: { readonly integrity: string; readonly shasum: string };
  readonly [field: string]: unknown;
}
