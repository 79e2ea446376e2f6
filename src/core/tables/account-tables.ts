import type {
  HandleReaders,
  OwnIdReaders,
  People,
  PictureMetadata,
  PushContent,
} from '@parley/protocol/resources/account.ts';
import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { ActorType } from '@parley/protocol/resources/actor.ts';
import type { RoleType } from '@parley/protocol/resources/role.ts';
import type { Generated, JSONColumnType } from 'kysely';
import type { FoldedColumn } from '../../platform/db/tables/folded-column.ts';
import type { MetadataColumn } from '../../platform/db/tables/metadata-column.ts';
import type { Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends AccountTables {}
}

interface AccountTables {
  accounts: Times & {
    id: string;
    name: string;
    plan: Generated<'free' | 'pro'>;
    subscription: Generated<'active' | 'inactive'>;
    picture_metadata: Generated<PictureMetadata>;
    own_ids: Generated<OwnIdReaders>;
    push_content: Generated<PushContent>;
    people: Generated<People>;
    handles: Generated<HandleReaders>;
    /** Set while the account is being removed: none of its credentials is accepted. */
    deleted_at: string | null;
  };

  roles: Times & {
    id: string;
    account_id: string;
    name: string;
    type: Generated<RoleType>;
    permissions: Generated<string[]>;
    folded: FoldedColumn;
  };

  actors: Times & {
    id: string;
    account_id: string;
    type: ActorType;
    customer: Generated<boolean>;
    name: string | null;
    /** By which texts mention a user; null for other actors. */
    username: string | null;
    handle: string | null;
    avatar_url: string | null;
    role_id: string | null;
    /** The id that the account's own application has for it; unique for its kind in the account. */
    external_id: string | null;
    metadata: MetadataColumn;
    deactivated_at: string | null;
    /** When the actor was last deactivated. Older access tokens without a session stay refused. */
    tokens_ended_at: string | null;
    /** When the person's name and addresses were removed permanently. */
    erased_at: string | null;
    /**
     * The address that a customer has proven to have: by a link or a code, by a mail, or by a token
     * of the application (core/accounts/actors/proven-address.ts).
     */
    proven_address: string | null;
    folded: FoldedColumn;
  };

  users: Times & {
    id: string;
    account_id: string;
    email: string;
    /** An author that an import made, which no person has claimed. */
    placeholder: Generated<boolean>;
  };

  /** The users that see the installation as a whole. */
  operators: {
    user_id: string;
    created_at: Time;
  };

  api_keys: Times & {
    id: string;
    account_id: string;
    actor_id: string;
    name: string;
    hash: Buffer;
    redacted: string;
    expires_at: string | null;
    revoked_at: string | null;
    folded: FoldedColumn;
  };

  tickets: {
    hash: Buffer;
    account_id: string;
    actor_id: string;
    credential: JSONColumnType<object>;
    expires_at: string;
  };

  messaging_groups: Times & {
    id: string;
    account_id: string;
    actor_id: string;
    name: string;
    folded: FoldedColumn;
  };

  group_members: {
    group_id: string;
    actor_id: string;
    position: number;
  };

  entities: Times & {
    id: string;
    account_id: string;
    name: string | null;
    handle: string | null;
    folded: FoldedColumn;
  };

  refresh_tokens: {
    hash: Buffer;
    family_id: string;
    account_id: string;
    actor_id: string;
    expires_at: string;
    used_at: string | null;
    revoked_at: string | null;
    created_at: Time;
    /** When the first token of the family was issued; null in tokens from before the column. */
    began_at: string | null;
    /** The widget by which the visitor of this session came. */
    widget_id: string | null;
  };

  avatars: {
    /** A part of the public address; nothing else protects the image. */
    id: string;
    account_id: string;
    actor_id: string;
    s3_key: string;
    content_type: string;
    created_at: Time;
  };

  presences: {
    actor_id: string;
    node_id: string;
    status: DeclaredStatus;
    /** When the presence ends; set once the actor's last socket on this node has closed. */
    until: string | null;
  };

  presence_nodes: {
    id: string;
    /** The rows of the node count until this time. */
    until: string;
  };
}
