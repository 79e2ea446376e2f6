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
