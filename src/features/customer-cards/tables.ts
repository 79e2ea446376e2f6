import type { Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends CustomerCardTables {}
}

interface CustomerCardTables {
  customer_card_sources: Times & {
    account_id: string;
    url: string;
    secret: Buffer;
    /** Also signs, until `previous_secret_until`. */
    previous_secret: Buffer | null;
    previous_secret_until: string | null;
  };
}
