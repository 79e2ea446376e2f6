import { createPrivateKey, type KeyObject } from 'node:crypto';
import { invalid, missingField } from '@parley/protocol/errors/errors.ts';
import type {
  ApnsEnvironment,
  CreatePushAppBody,
  UpdatePushAppBody,
} from '@parley/protocol/resources/push-app.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { sharedSecret } from '../../../platform/db/shared-secret.ts';
import { seal, unseal } from '../../../platform/sealed-bytes.ts';
import type { PushAppRow } from './push-apps.ts';

/** A key of a service account of Google. */
export interface FcmCredential {
  readonly platform: 'fcm';
  readonly project: string;
  readonly email: string;
  readonly keyId: string | null;
  /** An RSA key as PEM (PKCS #8). */
  readonly key: string;
}

/** A key for push notifications of Apple. */
export interface ApnsCredential {
  readonly platform: 'apns';
  readonly topic: string;
  readonly environment: ApnsEnvironment;
  readonly teamId: string;
  readonly keyId: string;
  /** A key of the curve P-256 as PEM (PKCS #8). */
  readonly key: string;
}

export type PushCredential = FcmCredential | ApnsCredential;

/**
 * Returns the credential in the body of a new app. Throws ApiError `missing_field`,
 * `validation_failed` for fields of the other platform, or `invalid_format` for what is no key.
 */
export function newCredential(body: CreatePushAppBody): PushCredential {
  if (body.platform === 'fcm') {
    refuse(body, ['topic', 'environment', 'team_id', 'key_id', 'private_key'], 'fcm');
    const account = body.service_account;
    if (account === undefined) {
      throw missingField('service_account', 'Send the key of a service account as well.');
    }
    return fcmCredential(account);
  }
  refuse(body, ['service_account'], 'apns');
  const { topic, environment = 'production', team_id: teamId, key_id: keyId, private_key: key } = body;
  if (topic === undefined) throw missingField('topic', 'Send the bundle id of the app as well.');
  if (teamId === undefined) throw missingField('team_id', 'Send the id of the team as well.');
  if (keyId === undefined) throw missingField('key_id', 'Send the id of the key as well.');
  if (key === undefined) throw missingField('private_key', 'Send the key as well.');
  return { platform: 'apns', topic, environment, teamId, keyId, key: ecKey(key) };
}

/** Throws as `newCredential` does for what no app can take. */
export function checkChange(body: UpdatePushAppBody): void {
  const { service_account: account, key_id: keyId, private_key: key, team_id: teamId } = body;
  if (account !== undefined) {
    refuse(body, ['team_id', 'key_id', 'private_key'], 'service_account');
    fcmCredential(account);
  } else if (keyId !== undefined || key !== undefined || teamId !== undefined) {
    if (key === undefined) throw missingField('private_key', 'Send the key as well.');
    if (keyId === undefined) throw missingField('key_id', 'Send the id of the key as well.');
    ecKey(key);
  }
}

/**
 * Returns the new credential in a body that has passed `checkChange`; undefined if it has none.
 * Throws ApiError `validation_failed` for the credential of another platform or project.
 */
export function changedCredential(
  { platform, identifier, environment, team_id: team }: PushAppRow,
  body: UpdatePushAppBody,
): PushCredential | undefined {
  const { service_account: account, key_id: keyId, private_key: key, team_id: teamId } = body;
  if (platform === 'fcm') {
    refuse(body, ['private_key'], 'fcm');
    if (account === undefined) return undefined;
    const credential = fcmCredential(account);
    if (credential.project === identifier) return credential;
    throw invalid(
      'service_account.project_id',
      `Must be ${identifier}: make another push app for another project.`,
    );
  }
  refuse(body, ['service_account'], 'apns');
  if (key === undefined || keyId === undefined) return undefined;
  return {
    platform,
    topic: identifier,
    environment: environment ?? 'production',
    teamId: teamId ?? team!,
    keyId,
    key: ecKey(key),
  };
}

/** Returns the columns of an app that show what its credential is for. */
export function credentialColumns(credential: PushCredential) {
  const { platform, keyId } = credential;
  return platform === 'fcm'
    ? { platform, identifier: credential.project, environment: null, team_id: null, key_id: keyId }
    : {
        platform,
        identifier: credential.topic,
        environment: credential.environment,
        team_id: credential.teamId,
        key_id: keyId,
      };
}

/** Seals the credentials of apps (DECISIONS.md#credentials-of-apps-are-sealed). */
export class CredentialSeal {
  readonly #secrets: readonly string[];

  /**
   * `secrets`: `PARLEY_ENCRYPTION_KEY`, of which the first one seals and each one unseals. Null:
   * the key that this installation made.
   */
  static async open(database: Database, secrets: readonly string[] | null): Promise<CredentialSeal> {
    return new CredentialSeal(secrets ?? [await sharedSecret(database, 'encryption_key')]);
  }

  private constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  seal(appId: string, credential: PushCredential): Buffer {
    return seal(Buffer.from(JSON.stringify(credential)), sealedWith(appId, this.#secrets[0]!));
  }

  /** Returns undefined if another key sealed it. */
  unseal(appId: string, sealed: Buffer): PushCredential | undefined {
    for (const secret of this.#secrets) {
      try {
        return JSON.parse(unseal(sealed, sealedWith(appId, secret)).toString());
      } catch {
        // The next key may be the one.
      }
    }
    return undefined;
  }
}

function sealedWith(appId: string, secret: string) {
  return { secret, salt: appId, purpose: 'parley push credential' };
}

/** Throws ApiError `validation_failed` for the first of these fields that the body has. */
function refuse(body: object, fields: readonly string[], other: string): void {
  const field = fields.find((name) => name in body);
  if (field !== undefined) throw invalid(field, `Does not go with ${other}.`);
}

function fcmCredential(account: NonNullable<UpdatePushAppBody['service_account']>): FcmCredential {
  const {
    project_id: project,
    client_email: email,
    private_key: key,
    private_key_id: keyId = null,
  } = account;
  const param = 'service_account.private_key';
  const parsed = readKey(key, param);
  if (parsed.asymmetricKeyType !== 'rsa') throw invalid(param, 'Must be an RSA key.');
  return { platform: 'fcm', project, email, keyId, key: pem(parsed) };
}

function ecKey(text: string): string {
  const key = readKey(text, 'private_key');
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw invalid('private_key', 'Must be a key of the curve P-256, as in the file of Apple.');
  }
  return pem(key);
}

function readKey(text: string, param: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw invalid(param, 'Must be a private key as PEM.');
  }
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
