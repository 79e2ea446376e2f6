/** One conversation. What is written offline is sent later, also after the app was killed. */

import { connect } from '@parley/client';
import { appActivity, openStore } from '@parley/client/native';
import { ParleyProvider, useConnection, useConversation } from '@parley/client/react';
import AsyncStorage from '@react-native-async-storage/async-storage';
import { useState } from 'react';
import { AppState, FlatList, KeyboardAvoidingView, StyleSheet, Text, TextInput, View } from 'react-native';
import { SERVER } from './server.ts';

const { url, account, actor, getToken } = SERVER;
const store = openStore({ storage: AsyncStorage, account, actor });
const client = connect({ url, account, getToken, store, activity: appActivity(AppState) });

export function App() {
  return (
    <ParleyProvider client={client}>
      <KeyboardAvoidingView behavior="padding" style={STYLES.app}>
        <Connection />
        <Conversation />
      </KeyboardAvoidingView>
    </ParleyProvider>
  );
}

function Connection() {
  const { state, error } = useConnection();
  return <Text style={STYLES.quiet}>{error?.message ?? state}</Text>;
}

function Conversation() {
  const { messages, live } = useConversation(SERVER.conversation);
  const [body, setBody] = useState('');
  const send = () => {
    // The list shows how it goes on.
    live?.send(body).catch(() => {});
    setBody('');
  };
  return (
    <>
      <FlatList
        inverted
        data={[...messages].reverse()}
        keyExtractor={({ key }) => key}
        onEndReached={() => live?.loadOlder().catch(() => {})}
        renderItem={({ item }) => (
          <View style={STYLES.message}>
            <Text>{item.body}</Text>
            {item.delivery === 'sent' ? null : <Text style={STYLES.quiet}>{item.delivery}</Text>}
          </View>
        )}
      />
      <TextInput
        accessibilityLabel="Message"
        style={STYLES.composer}
        value={body}
        onChangeText={(text) => {
          setBody(text);
          live?.typing();
        }}
        onSubmitEditing={send}
      />
    </>
  );
}

const STYLES = StyleSheet.create({
  app: { flex: 1, paddingVertical: 48, paddingHorizontal: 16 },
  message: { paddingVertical: 8 },
  quiet: { color: '#666' },
  composer: { borderWidth: 1, borderColor: '#999', borderRadius: 8, padding: 12 },
});
