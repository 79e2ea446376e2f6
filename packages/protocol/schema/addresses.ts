import { type TSchema, Type } from 'typebox';
import type { Version } from '../versions.ts';

/**
 * The addresses of people: of users that have none, and those that not every reader sees
 * (docs/contract.md#who-sees-addresses).
 */

/** The end of the address of a user who has none, which receives no mail (RFC 2606). */
export const NO_ADDRESS_ENDING = '@no-address.invalid';

/** Returns the address that stands for none, since every user has a unique one. */
export function addressless(id: string): string {
  return `${id}${NO_ADDRESS_ENDING}`.toLowerCase();
}

/** Before `version` an address stands for none, and the field has another text. */
export interface StandInRule {
  readonly version: Version;
  readonly description: string;
}

/** The keyword that carries the rule of `AddressOrNone`. Documents print it. */
export const STAND_IN_BEFORE = 'x-stand-in-before';

/** The address of the person with the `id` beside it. Null where there is none. */
export function AddressOrNone(rule: StandInRule) {
  return Type.Union([Type.String(), Type.Null()], { [STAND_IN_BEFORE]: rule });
}

/** Returns the rule that a field's schema was declared with. */
export function standInOf(schema: object): StandInRule | undefined {
  return (schema as { readonly [STAND_IN_BEFORE]?: StandInRule })[STAND_IN_BEFORE];
}

/** The keyword for a field that may be the address of a person. Validators skip it. */
export const HANDLE_OF = 'x-handle-of';

/**
 * The field `handle`, which is the address of a person where the `type` beside it is `kind`. Its
 * readers are those of the account setting `handles`, and the person (forms/forms.ts).
 */
export function Handle(kind: 'user' | 'actor') {
  return Type.Union([Type.String(), Type.Null()], { [HANDLE_OF]: kind });
}

/** Returns the `type` beside a field of this schema that makes it the address of a person. */
export function handleOf(schema: TSchema): string | undefined {
  return (schema as { readonly [HANDLE_OF]?: string })[HANDLE_OF];
}
