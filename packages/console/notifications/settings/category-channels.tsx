import { CATEGORY } from '@parley/protocol/resources/notification.ts';
import type { NotificationChannel } from '@parley/protocol/resources/notification-settings.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useState } from 'preact/hooks';
import { texts } from '../../texts/texts.ts';
import { kindOf } from '../notification-words.ts';
import type { SettingsPart } from './settings-part.ts';

const CHANNELS: Readonly<Record<NotificationChannel, string>> = texts.notifications.channels;

/** The ways by which each kind of notification comes. The list of notifications shows all kinds. */
export function CategoryChannels({ settings: { categories }, change }: SettingsPart) {
  const turn = (category: string, channel: NotificationChannel, isOn: boolean) =>
    change({ categories: { ...categories, [category]: { ...categories[category]!, [channel]: isOn } } });
  return (
    <fieldset class="settings-part">
      <legend>{texts.notifications.kindsTitle}</legend>
      <p>{texts.notifications.kindsAbout}</p>
      <table class="notification-settings-kinds">
        <thead>
          <tr>
            <th scope="col">{texts.notifications.kind}</th>
            {Object.entries(CHANNELS).map(([channel, label]) => (
              <th key={channel} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Object.entries(categories).map(([category, channels]) => (
            <tr key={category}>
              <th scope="row">{kindOf(category).label}</th>
              {(Object.keys(CHANNELS) as NotificationChannel[]).map((channel) => (
                <td key={channel}>
                  <label>
                    <input
                      type="checkbox"
                      aria-label={`${kindOf(category).label}: ${CHANNELS[channel]}`}
                      checked={channels[channel]}
                      onChange={(event) => turn(category, channel, event.currentTarget.checked)}
                    />
                  </label>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <NewKind
        onAdd={(category) =>
          change({ categories: { ...categories, [category]: { socket: true, push: true, mail: true } } })
        }
      />
    </fieldset>
  );
}

/** A kind that an application of the account makes. */
function NewKind({ onAdd }: { readonly onAdd: (category: string) => void }) {
  const [name, setName] = useState('');
  return (
    <form
      class="field-line notification-settings-line"
      onSubmit={(event) => {
        event.preventDefault();
        onAdd(name);
        setName('');
      }}
    >
      <input
        aria-label={texts.notifications.ownKind}
        placeholder="order.updated"
        title={CATEGORY.sentence}
        required
        pattern={CATEGORY.pattern}
        maxLength={CATEGORY.maxLength}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <Button type="submit">{texts.notifications.addKind}</Button>
    </form>
  );
}
