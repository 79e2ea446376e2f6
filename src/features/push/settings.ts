import { mailHostOf } from '../../core/features/node-settings.ts';
import type { Kind, Reader } from '../../platform/settings/reader.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends PushSettings {}
}

type PushSettings = Readonly<ReturnType<typeof readPushSettings>>;

export function readPushSettings(reader: Reader, publicUrl: string | null) {
  return {
    /** The contact for push services with questions about this server. */
    vapidSubject: reader.read('PARLEY_VAPID_SUBJECT', CONTACT, contactOf(publicUrl)),
    /** The first one seals the credentials of accounts, each one unseals; null: one of our own. */
    encryptionKeys: reader.read('PARLEY_ENCRYPTION_KEY', KEYS, null),
    /** Where pushes to phones go instead of the hosts of Google and Apple. */
    fcmUrl: reader.read('PARLEY_FCM_URL', SERVICE_URL, null),
    apnsUrl: reader.read('PARLEY_APNS_URL', SERVICE_URL, null),
  };
}

/** Returns a contact. Apple refuses a subject that is no real https URL and no mail address. */
function contactOf(publicUrl: string | null): string {
  const { protocol, origin } = new URL(publicUrl ?? 'http://localhost');
  return protocol === 'https:' ? origin : `mailto:postmaster@${mailHostOf(publicUrl)}`;
}

const CONTACT: Kind<string> = {
  accepts: 'a URL that begins with https://, or mailto:<address>',
  parse: (text) => {
    const isUrl = /^https:\/\/\S+$/i.test(text) && URL.parse(text) !== null;
    return isUrl || /^mailto:[^\s@]+@[^\s@]+$/.test(text) ? text : undefined;
  },
};

const SERVICE_URL: Kind<string> = {
  accepts: 'the origin of a server, such as https://push.example.com',
  parse: (text) => (URL.parse(text)?.origin === text && /^https?:/.test(text) ? text : undefined),
};

const KEYS: Kind<readonly string[]> = {
  accepts:
    'a secret of at least 32 characters ("openssl rand -hex 32" makes one), or two separated by a comma',
  secret: true,
  parse(text) {
    const keys = text.split(',').map((key) => key.trim());
    return keys.length <= 2 && keys.every((key) => key.length >= 32) ? keys : undefined;
  },
};
