import { Type } from 'typebox';
import { Nullable } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';

/** The name by which texts mention a user (docs/contract.md#users). */

const Name = Type.String({
  maxLength: 64,
  pattern: '^[a-z0-9]+(?:[._-][a-z0-9]+)*$',
  sentence: 'Must be lower-case letters and digits, with single dots, hyphens or underscores between.',
});

/** The field of a resource. */
export const Username = Since('1.4.harbor', Nullable(Type.String()));

/** The field of a body that creates a user. */
export const NewUsername = Since('1.4.harbor', Name);

/** The field of a body that changes one; null clears. */
export const ChangedUsername = Since('1.4.harbor', Nullable(Name));

/** The fields' texts. */
export const USERNAME_TEXTS = {
  shown: 'The name by which `@name` in a text mentions the user. Null where there is none.',
  create:
    'The name by which `@name` in a text mentions the user, unique in the account: lower-case letters and digits, with single dots, hyphens or underscores between. A taken one answers `resource_exists`.',
  change: 'The new name for mentions; null removes it. A taken one answers `resource_exists`.',
} as const;
