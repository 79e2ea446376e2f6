import type { WidgetColorsInput, WidgetHours, WidgetTextsInput } from '@parley/protocol/resources/widget.ts';
import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
import type { ColumnType, Generated } from 'kysely';
import type { Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends WidgetTables {}
}

interface WidgetTables {
  widgets: Times & {
    id: string;
    account_id: string;
    name: string;
    /** Origins, as browsers write them. */
    sites: string[];
    group_id: string | null;
    hours: ColumnType<WidgetHours | null, string | null | undefined, string | null>;
    texts: ColumnType<WidgetTextsInput, string | undefined, string>;
    colors: ColumnType<WidgetColorsInput, string | undefined, string>;
    identity_provider_id: string | null;
    show_team: Generated<boolean>;
    /** The inbox from which answers that stay unread are mailed. */
    inbox_id: string | null;
    enabled: Generated<boolean>;
    /** Actor id. */
    created_by: string;
  };

  /** Customers that came by a widget without a name. */
  visitors: {
    /** Actor id; the actor is removed once another customer has claimed the visitor. */
    id: string;
    account_id: string;
    widget_id: string;
    /** Actor id of the customer that the visitor is. */
    claimed_by: string | null;
    claimed_at: string | null;
    /** The conversations that became the customer's. */
    conversation_ids: string[] | null;
    created_at: Time;
  };

  /** Links that were mailed to an address that a visitor typed. */
  address_confirmations: {
    id: string;
    account_id: string;
    widget_id: string;
    visitor_id: string;
    /** SHA-256 of the token of the link. */
    token_hash: Buffer;
    address: string;
    language: WidgetLanguage;
    used_at: string | null;
    /** When the code was entered in the page that asked. */
    code_used_at: string | null;
    /** How often a code was entered. */
    tries: Generated<number>;
    expires_at: string;
    created_at: Time;
  };
}
