import { useConnection } from '@parley/client/react';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { notify } from '@parley/ui/feedback/notify.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { LogOut } from 'lucide';
import { useState } from 'preact/hooks';
import { NotificationSettings } from '../notifications/settings/notification-settings.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { forgetDemo } from '../session/sign-in.tsx';
import { changeLanguage, keptLanguage, LANGUAGES, type Language } from '../texts/languages.ts';
import { texts } from '../texts/texts.ts';
import { setTheme, type Theme, useTheme } from './theme.ts';

/** The settings of the person alone. */
export function SettingsPage() {
  const { me, signOut } = useSignedIn();
  return (
    <section class="settings-page" aria-labelledby="settings-title">
      <h1 id="settings-title">{texts.shell.settings}</h1>
      {me.user !== null && <Profile />}
      <Looks />
      <LanguageChoice />
      <ConnectionFacts />
      <NotificationSettings />
      <div class="settings-part">
        <h2>{texts.shell.session}</h2>
        <p>
          {texts.shell.signedInAs(me.actor.name ?? '', me.role?.name ?? texts.shell.noRole, me.account.name)}
        </p>
        <Button
          icon={LogOut}
          onClick={() => {
            forgetDemo();
            void signOut();
          }}
        >
          {texts.shell.signOut}
        </Button>
      </div>
    </section>
  );
}

function Profile() {
  const { client, me, reload } = useSignedIn();
  const [name, setName] = useState(me.actor.name ?? '');
  const { isBusy, problem, run } = useAction();
  const change = (fields: Parameters<typeof client.updateMe>[0]) =>
    run(async () => {
      await client.updateMe(fields);
      await reload();
      notify(texts.shell.profileSaved);
    });
  const trimmed = name.trim();
  return (
    <form
      class="settings-part"
      aria-labelledby="settings-profile"
      onSubmit={(event) => {
        event.preventDefault();
        void change({ name: trimmed });
      }}
    >
      <h2 id="settings-profile">{texts.shell.profile}</h2>
      <div class="settings-picture">
        <Avatar name={me.actor.name ?? ''} url={me.actor.avatar_url} size={64} />
        <label class="button settings-file">
          {texts.shell.changePicture}
          <input
            type="file"
            class="hidden-visually"
            accept="image/png,image/jpeg,image/gif,image/webp"
            disabled={isBusy}
            onChange={(event) => {
              const [file] = event.currentTarget.files ?? [];
              event.currentTarget.value = '';
              if (file !== undefined) void change({ avatar: file });
            }}
          />
        </label>
        {me.actor.avatar_url !== null && (
          <Button disabled={isBusy} onClick={() => void change({ avatar: null })}>
            {texts.shell.removePicture}
          </Button>
        )}
      </div>
      <label class="settings-field">
        {texts.shell.name}
        <input
          required
          maxLength={200}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {me.user?.email && <p class="settings-quiet">{me.user.email}</p>}
      <Button
        type="submit"
        look="primary"
        disabled={isBusy || trimmed === '' || trimmed === (me.actor.name ?? '')}
      >
        {texts.shell.save}
      </Button>
      <Problem text={problem} />
    </form>
  );
}

function Looks() {
  const theme = useTheme();
  return (
    <fieldset class="settings-part settings-looks">
      <legend>{texts.shell.looks}</legend>
      {(Object.entries(texts.shell.themes) as [Theme, string][]).map(([value, label]) => (
        <label key={value} class="settings-look">
          <input type="radio" name="theme" checked={value === theme} onChange={() => setTheme(value)} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

function LanguageChoice() {
  const kept = keptLanguage() ?? '';
  return (
    <div class="settings-part">
      <label class="settings-field">
        {texts.shell.language}
        <select
          value={kept}
          onChange={({ currentTarget: { value } }) =>
            changeLanguage(value === '' ? null : (value as Language))
          }
        >
          <option value="">{texts.shell.languageOfBrowser}</option>
          {Object.entries(LANGUAGES).map(([language, name]) => (
            <option key={language} value={language} lang={language}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function ConnectionFacts() {
  const { state, transport } = useConnection();
  return (
    <div class="settings-part">
      <h2>{texts.shell.connection}</h2>
      <p>
        {state === 'live'
          ? texts.shell.liveOver(texts.shell.transports[transport ?? 'websocket'])
          : texts.shell.notLive}{' '}
        {texts.shell.plug}
      </p>
    </div>
  );
}
