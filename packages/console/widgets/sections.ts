import { h } from 'preact';
import type { Section } from '../administration/section.ts';
import { WIDGET_TEXTS } from '../administration/texts/channel-texts.ts';
import { WidgetPreview } from './widget-preview.tsx';
import { WidgetSnippet } from './widget-snippet.tsx';

/** Chats that pages embed. */
export const WIDGET_SECTIONS: readonly Section[] = [
  {
    slug: 'widgets',
    texts: WIDGET_TEXTS,
    beside: (value) => h(WidgetPreview, { value }),
    title: 'Widgets',
    one: 'widget',
    about: 'Chats that pages of your sites embed.',
    list: 'list_widgets',
    get: 'get_widget',
    create: 'create_widget',
    update: 'update_widget',
    columns: ['name', 'sites', 'enabled', 'created_at'],
    actions: [
      {
        label: 'Delete',
        operation: 'delete_widget',
        warning: 'Pages that embed the widget do not show it any more.',
        isDanger: true,
        removes: true,
      },
    ],
    More: WidgetSnippet,
  },
];
