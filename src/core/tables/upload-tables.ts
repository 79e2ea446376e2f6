import type { Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends UploadTables {}
}

interface UploadTables {
  uploads: {
    s3_key: string;
    account_id: string;
    actor_id: string;
    filename: string;
    content_type: string;
    size_bytes: number;
    attached_at: string | null;
    withdrawn_at: string | null;
    created_at: Time;
  };

  /** Maintained by triggers of `uploads`. */
  stored_bytes: {
    account_id: string;
    bytes: number;
  };
}
